// A wait that ends, whatever is waited for.

/** Waits for the work, or for so long. */
export async function within(ms: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const deadline = new Promise<void>((resolve) => (timer = setTimeout(resolve, ms)))
  await Promise.race([work, deadline])
  clearTimeout(timer)
}
