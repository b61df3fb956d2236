// Compiles everything to dist/, bundles the page for browsers, and bundles the program that the gateway starts from.
// `node build.mjs <folder>` builds to another folder.
import { spawnSync } from 'node:child_process'
import { chmodSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
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
rmSync(`${out}/bin/gateway.js.map`)
for (const [name, compiled] of Object.entries({ gateway: 'bundled', gwctl: 'gwctl' })) {
  for (const end of ['.js', '.js.map'])
    renameSync(`${out}/bin/${compiled}${end}`, `${out}/bin/${name}.main${end}`)
  writeFileSync(`${out}/bin/${name}.js`, launcherOf(name))
  chmodSync(`${out}/bin/${name}.js`, 0o755)
}
await bundle('gateway', out)

/** The program that a user starts. Every version of Node can parse it: it has no import statement and no new syntax. */
function launcherOf(name) {
  const { engines } = JSON.parse(readFileSync('package.json', 'utf8'))
  const oldest = engines.node.replace('>=', '')
  return `#!/usr/bin/env node
// Refuses versions of Node that cannot run the program, and otherwise runs it.
var oldest = '${oldest}'.split('.').map(Number)
var found = process.versions.node.split('.').map(Number)
var differing = [0, 1, 2].filter(function (at) { return found[at] !== oldest[at] })[0]
if (differing !== undefined && found[differing] < oldest[differing]) {
  console.error('Error: ${name} needs Node ${oldest} or newer, and this is Node ' + process.versions.node + '.')
  process.exitCode = 1
} else {
  import('./${name}.main.js')
}
`
}
