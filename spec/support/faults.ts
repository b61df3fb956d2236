// Uncaught exceptions, as the process receives them.

import { deadline } from './deadline.ts'

/** The messages of `count` uncaught exceptions that are thrown during `work`. */
export async function faultsOf(count: number, work: () => unknown): Promise<string[]> {
  const faults: string[] = []
  let hear!: (error: Error) => void
  const hearing = new Promise<void>((resolve) => {
    hear = (error) => {
      faults.push(error.message)
      if (faults.length === count) resolve()
    }
  })
  process.on('uncaughtException', hear)
  try {
    await work()
    await deadline(hearing, 30_000, `${count} faults`)
  } finally {
    process.off('uncaughtException', hear)
  }
  return faults
}
