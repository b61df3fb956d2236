// What work takes of the processor. The clock would tell how long it waited for its turn, too, and on a busy machine that is
// most of it.

/** Of all threads of this process so far, in milliseconds. */
export function cpuMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}
