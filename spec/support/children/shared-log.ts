// Logs more than a pipe holds, while other processes use the same standard output, and exits.

import { spawnSync } from 'node:child_process'
import { Log } from '../../../lib/core/log.ts'

const LINES = 2_000
const ROUNDS = 3

const log = new Log({ level: 'info', format: 'text' })
for (let round = 0; round < ROUNDS; round++) {
  spawnSync('true', { stdio: 'inherit' })
  for (let line = 0; line < LINES; line++)
    log.write('info', 'gateway', 'x'.repeat(100), ['line', line])
  await new Promise((resolve) => setTimeout(resolve, 50))
}
spawnSync('true', { stdio: 'inherit' })
await log.end()
process.exit(0)
