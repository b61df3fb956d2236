// The programs that users start: they refuse an old version of Node with one sentence, before they load anything.

import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createContext, runInContext } from 'node:vm'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ROOT } from '../support/root.ts'

const launcher = suite('launcher')

const { engines } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  engines: { node: string }
}
const OLDEST = engines.node.replace('>=', '')

/** Runs the launcher as a script, as versions before 12 do; `import()` is replaced. */
function launch(program: string, node: string): { errors: string[]; code: number; runs: string[] } {
  const text = readFileSync(join(ROOT, `dist/bin/${program}.js`), 'utf8')
  const script = text.replace('import(', 'load(')
  const told = { errors: [] as string[], runs: [] as string[] }
  const process = { versions: { node }, exitCode: 0 }
  const console = { error: (line: string) => told.errors.push(line) }
  const load = (file: string) => told.runs.push(file)
  runInContext(script, createContext({ process, console, load }))
  return { ...told, code: process.exitCode }
}

launcher('refuses versions of Node that cannot run the program, in one sentence', () => {
  for (const program of ['gateway', 'gwctl'])
    for (const node of ['8.17.0', '18.20.4', '20.9.0', '20.18.0'])
      assert.equal(launch(program, node), {
        errors: [`Error: ${program} needs Node ${OLDEST} or newer, and this is Node ${node}.`],
        code: 1,
        runs: [],
      })
})

launcher('runs the program with all others', () => {
  for (const node of [OLDEST, '20.20.2', '22.0.0', '24.1.0', '100.0.0'])
    assert.equal(launch('gwctl', node), { errors: [], code: 0, runs: ['./gwctl.main.js'] })
})

launcher('has only syntax of 2015 apart from import(), and no import statement', () => {
  for (const program of ['gateway', 'gwctl']) {
    const text = readFileSync(join(ROOT, `dist/bin/${program}.js`), 'utf8')
    assert.not.match(text, /\?\.|\?\?|=>|`|^\s*(?:import|export|const|let|await)\s|node:/m)
    const { status, stderr } = spawnSync(process.execPath, [
      join(ROOT, `dist/bin/${program}.js`),
      '--version',
    ])
    assert.equal([status, String(stderr)], [0, ''])
  }
})

launcher.run()
