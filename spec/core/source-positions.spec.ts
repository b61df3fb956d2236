// A bundle of two small files, and the table of the sources of its lines.

import { writeFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { Script } from 'node:vm'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { readSourceLookup, sourceStack } from '../../lib/core/source-positions.ts'
import { Folder } from '../support/folder.ts'

const BUNDLE = `(function () {
function read() { return new Error('of one').stack }
function read2() { return new Error('of two').stack }
function read3() { return new Error('of none').stack }
return [read(), read2(), read3()] })`

const TABLE = {
  files: ['lib/one.ts', 'lib/two.ts'],
  names: { read2: 'read' },
  lines: [-1, 0, 0, 41, 1, 7, -1, 0, 1, 99],
}

const positions = suite('source positions')
let folder = new Folder()
positions.before.each(() => {
  folder = new Folder()
  writeFileSync(folder.at('a.bundle.js'), BUNDLE)
  writeFileSync(folder.at('a.bundle.js.places.json'), JSON.stringify(TABLE))
})
positions.after.each(() => {
  folder.close()
})

function stacksOf(name: string): string[] {
  const filename = pathToFileURL(folder.at(name)).href
  return (new Script(BUNDLE, { filename }).runInThisContext() as () => string[])()
}

positions('have the file, line and name in the sources', () => {
  const found = readSourceLookup(folder.at('a.bundle.js'))
  assert.equal(found?.findPosition(2), { file: 'lib/one.ts', line: 41 })
  assert.equal(found?.findPosition(3), { file: 'lib/two.ts', line: 7 })
  assert.is(found?.originalNameOf('read2'), 'read')
  assert.is(found?.originalNameOf('read3'), 'read3')
  assert.is(found?.originalNameOf('toString'), 'toString')
})

positions('are null for lines without a source, and lines that do not exist', () => {
  const found = readSourceLookup(folder.at('a.bundle.js'))
  for (const line of [0, 1, 4, 6, 100]) assert.is(found?.findPosition(line), null, String(line))
})

positions('are not available without a table or a bundle', () => {
  writeFileSync(folder.at('b.bundle.js.places.json'), '{')
  writeFileSync(folder.at('c.js.places.json'), JSON.stringify(TABLE))
  for (const name of ['none.bundle.js', 'b.bundle.js', 'c.js'])
    assert.is(readSourceLookup(folder.at(name)), null, name)
})

positions('replace those of the bundle in the stacks of errors', () => {
  const [one, two, unknown] = stacksOf('a.bundle.js').map(sourceStack)
  assert.match(one!, /^Error: of one\n {4}at read \(lib\/one\.ts:41\)\n {4}at lib\/two\.ts:99\n/)
  assert.match(two!, /^Error: of two\n {4}at read \(lib\/two\.ts:7\)\n/)
  assert.match(unknown!, /^Error: of none\n {4}at read3 \(file:[^)]+\/a\.bundle\.js:4:\d+\)\n/)
})

positions('that are not known stay unchanged', () => {
  const [, two] = stacksOf('none.bundle.js').map(sourceStack)
  assert.match(two!, /^Error: of two\n {4}at read2 \(file:[^)]+\/none\.bundle\.js:3:\d+\)\n/)
  assert.match(
    sourceStack(new Error('here').stack!),
    /^Error: here\n {4}at .*source-positions\.spec\.js:\d+/,
  )
})

positions('in a message that looks like a frame stay unchanged', () => {
  for (const url of [
    'file://elsewhere/a.bundle.js',
    'file:///%2F/a.bundle.js',
    'file:a.bundle.js',
  ]) {
    const stack = `Error: first line\n    at f (${url}:1:1)`
    assert.is(sourceStack(stack), stack)
  }
})

positions.run()
