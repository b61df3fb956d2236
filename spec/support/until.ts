// Waits until a condition is true. It sleeps between two checks: a busy loop would take the CPU from the awaited work.

const WAIT_MS = 30_000
const LOOK_MS = 2

export async function until(what: string, isTrue: () => boolean): Promise<void> {
  const last = performance.now() + WAIT_MS
  while (!isTrue()) {
    if (performance.now() > last)
      throw new Error(`timed out after ${WAIT_MS} ms waiting for ${what}`)
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS))
  }
}
