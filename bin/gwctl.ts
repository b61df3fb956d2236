// gwctl: inspects a running gateway. Data goes to standard output, messages to standard error; it exits with 0 or 1.

import { runCommandLine } from '../lib/ctl/command-line.ts'

// A reader such as head may close the pipe early; that is not an error.
process.stdout.on('error', () => process.exit(0))

try {
  await runCommandLine(process.argv.slice(2))
} catch (error) {
  const { plain } = await import('../lib/ctl/terminal-text.ts')
  const message = error instanceof Error ? error.message : String(error)
  // The message may quote a gateway or curl.
  process.stderr.write(`Error: ${message.split('\n').map(plain).join('\n')}\n`)
  // A stream or a child process may still be open.
  process.exit(1)
}
