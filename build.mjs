// Compiles everything to dist/, the page for browsers, and the bundle that the gateway starts from. `node build.mjs <folder>`
// builds elsewhere.
import { spawnSync } from 'node:child_process'
import { chmodSync, cpSync, renameSync, rmSync } from 'node:fs'
import { bundle } from './bundle.mjs'

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
for (const end of ['.js', '.js.map'])
  renameSync(`${out}/bin/bundled${end}`, `${out}/bin/gateway${end}`)
for (const name of ['gateway', 'gwctl']) chmodSync(`${out}/bin/${name}.js`, 0o755)
await bundle('gateway', out)
