// Uncaught exceptions, as the process receives them.

import { deadline } from './deadline.ts'

/** The messages of `count` uncaught exceptions that are thrown during `work`. */
export async function faultsOf(count: number, work: () => unknown): Promise<string[]> {
  const faults: string[] = []
  let onException!: (error: Error) => void
  const collected = new Promise<void>((resolve) => {
    onException = (error) => {
      faults.push(error.message)
      if (faults.length === count) resolve()
    }
  })
  process.on('uncaughtException', onException)
  try {
    await work()
    await deadline(collected, 30_000, `${count} faults`)
  } finally {
    process.off('uncaughtException', onException)
  }
  return faults
}
