// Something that is done again and again, until it is called off.

/** What it returns calls it off. */
export type Every = (ms: number, act: () => void) => () => void

/** Keeps no process alive. */
export const every: Every = (ms, act) => {
  const timer = setInterval(act, ms).unref()
  return () => clearInterval(timer)
}
