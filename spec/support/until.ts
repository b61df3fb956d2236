// Something that becomes true by itself: it is looked at every turn, and not for ever.

const WAIT_MS = 30_000

export async function until(what: string, holds: () => boolean): Promise<void> {
  const last = performance.now() + WAIT_MS
  while (!holds()) {
    if (performance.now() > last) throw new Error(`waited ${WAIT_MS} ms in vain for ${what}`)
    await new Promise((resolve) => setImmediate(resolve))
  }
}
