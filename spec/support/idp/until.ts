// Polls a value until it meets a condition.

const STEP_MS = 50

/** The error at the deadline contains the last value. */
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
      throw new Error(`condition not met after ${ms} ms: ${JSON.stringify(value)}`)
    await new Promise((resolve) => setTimeout(resolve, STEP_MS))
  }
}
