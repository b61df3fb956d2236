// Compiles everything to dist/, the page for browsers, and makes the entry points executable. `node build.mjs <folder>`
// builds elsewhere.
import { chmodSync, cpSync, rmSync } from 'node:fs'
import { spawnSync } from 'node:child_process'

const [out = 'dist'] = process.argv.slice(2)
const PAGE = 'lib/ui/page'

rmSync(out, { recursive: true, force: true })
for (const project of ['.', PAGE]) {
  const words = ['node_modules/typescript/bin/tsc', '-p', project, '--outDir', out]
  const { status } = spawnSync(process.execPath, words, { stdio: 'inherit' })
  if (status !== 0) process.exit(1)
}
for (const name of ['index.html', 'style'])
  cpSync(`${PAGE}/${name}`, `${out}/${PAGE}/${name}`, { recursive: true })
for (const name of ['gateway', 'gwctl']) chmodSync(`${out}/bin/${name}.js`, 0o755)
