// Faults that nothing in the gateway catches, as the process hears of them.

import { deadline } from './deadline.ts'

/** The messages of so many, thrown in the course of some work. */
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
