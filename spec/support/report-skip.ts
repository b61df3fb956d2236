// Says that a spec did not run, and why; the runner repeats these lines at its end.

/** `what` is the suite or the tool that was to be tried. */
export function reportSkip(what: string, why: string): void {
  process.stderr.write(`skipped ${what}: ${why}\n`)
}
