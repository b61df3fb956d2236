// Waits until a condition holds. It sleeps between two looks: a loop without a pause takes the processor from what it waits for.

const WAIT_MS = 30_000
const LOOK_MS = 2

export async function until(what: string, holds: () => boolean): Promise<void> {
  const last = performance.now() + WAIT_MS
  while (!holds()) {
    if (performance.now() > last) throw new Error(`waited ${WAIT_MS} ms in vain for ${what}`)
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS))
  }
}
