// CPU time of this process. Wall-clock time would include waiting for the CPU, which is most of it on a busy machine.

/** The CPU time of all threads so far, in milliseconds. */
export function cpuMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}
