#!/usr/bin/env node
// gwctl: looks at a running gateway. Data goes to standard output, words to standard error; it exits 0 or 1.

import { runWords } from '../lib/ctl/program.ts'

// Whoever reads only its beginning is no fault.
process.stdout.on('error', () => process.exit(0))

try {
  await runWords(process.argv.slice(2))
} catch (error) {
  const { plain } = await import('../lib/ctl/plain-text.ts')
  const message = error instanceof Error ? error.message : String(error)
  // What a gateway or curl said is in it.
  process.stderr.write(`Error: ${message.split('\n').map(plain).join('\n')}\n`)
  // A stream or a child may be open still.
  process.exit(1)
}
