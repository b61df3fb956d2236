// Compiles everything to dist/ and makes the entry points executable.
import { chmodSync, rmSync } from 'node:fs'
import { spawnSync } from 'node:child_process'

rmSync('dist', { recursive: true, force: true })
const { status } = spawnSync(process.execPath, ['node_modules/typescript/bin/tsc'], {
  stdio: 'inherit',
})
if (status !== 0) process.exit(1)
for (const name of ['gateway', 'gwctl']) chmodSync(`dist/bin/${name}.js`, 0o755)
