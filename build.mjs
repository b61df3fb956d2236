// Compiles everything to dist/, bundles the page for browsers, and bundles the program that the gateway starts from.
// `node build.mjs <folder>` builds to another folder.
import { spawnSync } from 'node:child_process'
import { chmodSync, renameSync, rmSync } from 'node:fs'
import { bundle } from './bundle.mjs'
import { bundlePage } from './bundle-page.mjs'

const [out = 'dist'] = process.argv.slice(2)

rmSync(out, { recursive: true, force: true })
// The page is bundled from its TypeScript: the compiler only checks it, and compiles what its specs import.
for (const options of [
  ['-p', '.', '--outDir', out],
  ['-p', 'lib/page', '--noEmit'],
  ['-p', 'spec/page', '--outDir', out],
]) {
  const words = ['node_modules/typescript/bin/tsc', ...options]
  const { status } = spawnSync(process.execPath, words, { stdio: 'inherit' })
  if (status !== 0) process.exit(1)
}
await bundlePage(out)
for (const end of ['.js', '.js.map'])
  renameSync(`${out}/bin/bundled${end}`, `${out}/bin/gateway${end}`)
for (const name of ['gateway', 'gwctl']) chmodSync(`${out}/bin/${name}.js`, 0o755)
await bundle('gateway', out)
