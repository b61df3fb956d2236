// What keeps the house in order. Each rule is tried first on sources that break it.

import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ROOT } from './support/root.ts'
import {
  cycleProblems,
  functionProblems,
  importsOf,
  layerProblems,
  lengthProblems,
  openingProblems,
} from './support/source-rules.ts'
import type { SourceFile } from './support/source-rules.ts'

const FOLDERS = ['bin', 'lib', 'spec', 'conformance', 'perf', 'schema']

function sourcesOf(...folders: string[]): SourceFile[] {
  return folders.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => `${folder}/${name}`)
      .map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') })),
  )
}

/** A file that imports these. */
function file(path: string, ...imports: string[]): SourceFile {
  return { path, text: imports.map((target) => `import { x } from '${target}'\n`).join('') }
}

const layers = suite('layers')

layers('reads every form of import', () => {
  const text = `// import { no } from './comment.ts'
import './bare.ts'
import { a, b } from './one.ts'
import {
  long,
  list,
} from '../lines.ts'
import * as all from './all.ts'
import fallback from './default.ts'
import type { T } from './type.ts'
export { c } from './passed-on.ts'
export * from './everything.ts'
import net from 'node:net'
const late = await import('./late.ts')
export const text = 'from ./string.ts'
`
  const found = importsOf({ path: 'lib/x/a.ts', text })
  const names = found.map(({ to, isType }) => (isType ? `type ${to}` : to))
  assert.equal(names, [
    'lib/x/bare.ts',
    'lib/x/one.ts',
    'lib/lines.ts',
    'lib/x/all.ts',
    'lib/x/default.ts',
    'type lib/x/type.ts',
    'lib/x/passed-on.ts',
    'lib/x/everything.ts',
    'lib/x/late.ts',
  ])
})

layers('finds an import that goes up or sideways', () => {
  const wrong = [
    file('lib/base/a.ts', '../relay/relay.ts'),
    file('lib/base/b.ts', '../gateway.ts'),
    file('lib/relay/c.ts', '../settle/access-log.ts'),
    file('lib/relay/d.ts', '../plan/plan.ts'),
    file('lib/plan/plan.ts', '../gateway.ts'),
    file('lib/front/front.ts', '../process/run.ts'),
    file('lib/workers/h.ts', '../admin/server.ts'),
    file('lib/admin/e.ts', '../forward/http/pool.ts'),
    file('lib/gateway.ts', '../bin/gateway.ts'),
    file('lib/choose/f.ts', '../../spec/support/root.ts'),
    file('lib/helpers/g.ts'),
    file('bin/gateway.ts', '../perf/run.ts'),
    file('lib/trace-view/i.ts', '../base/errors.ts'),
    file('lib/admin/j.ts', '../trace-view/amounts.ts'),
  ]
  assert.equal(layerProblems(wrong), [
    'lib/base/a.ts may not import lib/relay/relay.ts',
    'lib/base/b.ts may not import lib/gateway.ts',
    'lib/relay/c.ts may not import lib/settle/access-log.ts',
    'lib/relay/d.ts may not import lib/plan/plan.ts',
    'lib/plan/plan.ts may not import lib/gateway.ts',
    'lib/front/front.ts may not import lib/process/run.ts',
    'lib/workers/h.ts may not import lib/admin/server.ts',
    'lib/admin/e.ts may not import lib/forward/http/pool.ts',
    'lib/gateway.ts may not import bin/gateway.ts',
    'lib/choose/f.ts may not import spec/support/root.ts',
    'lib/helpers/g.ts is in no known layer',
    'bin/gateway.ts may not import perf/run.ts',
    'lib/trace-view/i.ts may not import lib/base/errors.ts',
    'lib/admin/j.ts may not import lib/trace-view/amounts.ts',
  ])
})

layers('lets imports go down', () => {
  const right = [
    file('lib/base/wire/a.ts', '../errors.ts', './b.ts'),
    file('lib/forward/http/c.ts', '../../base/errors.ts', './d.ts', '../retry.ts'),
    file('lib/plan/plan.ts', './limits.ts', '../choose/route-table.ts'),
    file('lib/gateway.ts', './plan/plan.ts', './relay/relay.ts', './base/log/log.ts'),
    file('lib/front/front.ts', '../gateway.ts', '../admin/server.ts', '../ui/api.ts'),
    file('lib/process/run.ts', '../gateway.ts', '../front/front.ts', './ending.ts'),
    file('lib/ctl/e.ts', '../trace-view/amounts.ts'),
    file('bin/gateway.ts', '../lib/gateway.ts', '../lib/process/run.ts', '../lib/base/log/log.ts'),
  ]
  assert.equal(layerProblems(right), [])
})

layers('finds a cycle, however long', () => {
  const files = [
    file('lib/base/a.ts', './b.ts'),
    file('lib/base/b.ts', './c.ts'),
    file('lib/base/c.ts', './b.ts', './d.ts'),
    file('lib/base/d.ts', './d.ts'),
  ]
  assert.equal(cycleProblems(files), [
    'lib/base/b.ts → lib/base/c.ts → lib/base/b.ts',
    'lib/base/d.ts → lib/base/d.ts',
  ])
})

layers('takes no cycle for one where only types go round', () => {
  const type = { path: 'lib/base/b.ts', text: "import type { A } from './a.ts'\n" }
  assert.equal(cycleProblems([file('lib/base/a.ts', './b.ts'), type]), [])
})

layers('finds files and functions that are too long', () => {
  const long = (count: number): string => '    work()\n'.repeat(count)
  const method = (count: number): string =>
    `class A {\n  run(a: string): void {\n${long(count)}  }\n}\n`
  const loop = `for (const a of b()) {\n${long(70)}}\n`
  assert.equal(lengthProblems([{ path: 'a.ts', text: long(500) }]), [])
  assert.equal(lengthProblems([{ path: 'a.ts', text: long(501) }]).length, 1)
  assert.equal(functionProblems([{ path: 'a.ts', text: method(58) + loop }]), [])
  assert.equal(functionProblems([{ path: 'a.ts', text: method(59) }]), [
    'a.ts:2 is a function of 61 lines',
  ])
  assert.equal(functionProblems([{ path: 'b.ts', text: `it(() => {\n${long(60)}})\n` }]).length, 1)
})

layers('finds a file that does not say what it is for', () => {
  const files = [
    { path: 'a.ts', text: '// What a is for.\n' },
    { path: 'b.ts', text: '#!/usr/bin/env node\n// What b is for.\n' },
    { path: 'c.ts', text: "import './a.ts'\n" },
  ]
  assert.equal(openingProblems(files), ['c.ts does not open with a comment'])
})

layers('imports go one way', () => {
  const files = sourcesOf('bin', 'lib')
  assert.ok(files.length > 50)
  assert.equal(layerProblems(files), [])
})

layers('imports never go round', () => {
  assert.equal(cycleProblems(sourcesOf(...FOLDERS)), [])
})

layers('files and functions stay short', () => {
  const files = sourcesOf(...FOLDERS)
  assert.equal(lengthProblems(files), [])
  assert.equal(functionProblems(files), [])
})

layers('every file of the product says what it is for', () => {
  assert.equal(openingProblems(sourcesOf('bin', 'lib')), [])
})

layers.run()
