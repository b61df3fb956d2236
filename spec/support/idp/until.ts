// Something that becomes true in its own time.

const STEP_MS = 50

/** Asks again and again; the last answer tells why it was in vain. */
export async function until<Value>(
  look: () => Promise<Value>,
  fits: (value: Value) => boolean,
  ms: number,
): Promise<Value> {
  const last = performance.now() + ms
  for (;;) {
    const value = await look()
    if (fits(value)) return value
    if (performance.now() > last)
      throw new Error(`waited ${ms} ms in vain, and still: ${JSON.stringify(value)}`)
    await new Promise((resolve) => setTimeout(resolve, STEP_MS))
  }
}
