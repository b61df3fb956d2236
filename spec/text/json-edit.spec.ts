// Edits of JSON in place: the edited values change, and nothing else.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { applyEdits, findSpans } from '../../lib/text/json-edit.ts'
import { findJsonValue } from '../../lib/text/json-scan.ts'
import { fc } from '../support/fast-check.ts'

const edit = suite('json edit')

function textsAt(text: string, ...path: string[]): string[] {
  const bytes = Buffer.from(text)
  const value = findJsonValue(bytes)
  assert.ok(value, text)
  return findSpans(bytes, value, path).map(({ from, to }) => bytes.toString('utf8', from, to))
}

/** The text with everything at the path replaced. */
function replaced(text: string, by: string, ...path: string[]): string {
  const bytes = Buffer.from(text)
  const spans = findSpans(bytes, findJsonValue(bytes)!, path)
  return applyEdits(
    bytes,
    spans.map((span) => ({ ...span, text: by })),
  ).toString()
}

edit('changes a value and leaves every other byte', () => {
  const text = '{ "jsonrpc":"2.0",\t"id" : 1.0 , "x":[1e2,"\\u0041"] ,"größe":-0}'
  assert.is(replaced(text, '17', 'id'), text.replace('1.0 ', '17 '))
  assert.is(
    replaced(text, '"ein längeres Wort"', 'größe'),
    text.replace('-0', '"ein längeres Wort"'),
  )
  assert.is(replaced(text, '', 'x'), text.replace('[1e2,"\\u0041"]', ''))
  assert.is(replaced(text, 'null'), 'null')
})

edit('changes several values in any order', () => {
  const bytes = Buffer.from('[10, 200, 3000]')
  const edits = [
    { from: 10, to: 14, text: '' },
    { from: 1, to: 3, text: '"äöü"' },
    { from: 5, to: 8, text: '2' },
  ]
  assert.is(applyEdits(bytes, edits).toString(), '["äöü", 2, ]')
  assert.is(applyEdits(bytes, edits.toReversed()).toString(), '["äöü", 2, ]')
})

edit('inserts text between bytes, and edits from the first byte to the last', () => {
  const bytes = Buffer.from('[1]')
  assert.is(applyEdits(bytes, [{ from: 1, to: 1, text: '0,' }]).toString(), '[0,1]')
  const edits = [
    { from: 1, to: 2, text: '2' },
    { from: 1, to: 1, text: '1,' },
    { from: 0, to: 0, text: ' ' },
    { from: 3, to: 3, text: '\n' },
  ]
  assert.is(applyEdits(bytes, edits).toString(), ' [1,2]\n')
  assert.is(applyEdits(bytes, [{ from: 0, to: 3, text: '' }]).length, 0)
})

edit('never modifies its input, and returns it if there are no edits', () => {
  const bytes = Buffer.from('{"id":1}')
  assert.is(applyEdits(bytes, []), bytes)
  const same = applyEdits(bytes, [{ from: 6, to: 7, text: '2' }])
  assert.is(same.toString(), '{"id":2}')
  assert.is(bytes.toString(), '{"id":1}')
  same.fill(0)
  assert.is(bytes.toString(), '{"id":1}')
})

edit('refuses edits that overlap or are outside the bytes', () => {
  const bytes = Buffer.from('[1,2,3]')
  const wrong: [from: number, to: number][][] = [
    [
      [1, 4],
      [3, 6],
    ],
    [
      [1, 6],
      [3, 4],
    ],
    [
      [1, 2],
      [1, 2],
    ],
    [[5, 8]],
    [[3, 2]],
    [[-1, 2]],
  ]
  for (const spans of wrong) {
    const edits = spans.map(([from, to]) => ({ from, to, text: 'x' }))
    assert.throws(() => applyEdits(bytes, edits), /edits overlap/, JSON.stringify(spans))
  }
})

edit('follows a path over members and items', () => {
  const text = '{"tools":[{"name":"a","x":{"name":"no"}},{"name":"b"}],"name":"no"}'
  assert.equal(textsAt(text, 'tools', '[]', 'name'), ['"a"', '"b"'])
  assert.equal(textsAt(text, 'tools', '[]'), ['{"name":"a","x":{"name":"no"}}', '{"name":"b"}'])
  assert.equal(textsAt('[[1,2],[],[3]]', '[]', '[]'), ['1', '2', '3'])
  assert.equal(textsAt(' 1 '), ['1'])
})

edit('finds every member of a name, whichever way its key is escaped', () => {
  assert.equal(textsAt('{"a":1,"b":2,"\\u0061":3,"A":4}', 'a'), ['1', '3'])
  assert.equal(textsAt('{"a":{"b":1},"a":{"b":2,"b":3}}', 'a', 'b'), ['1', '2', '3'])
})

edit('finds nothing for missing members and values of another kind', () => {
  const text = '{"a":[1,{"b":2}],"c":"[]","[]":[3],"d":null}'
  for (const path of ['x', 'a.b', 'a.x', 'c.[]', 'c.x', 'd.x', '[]', 'a.[].[]', 'd.[]', 'x.[].y'])
    assert.equal(textsAt(text, ...path.split('.')), [], path)
  assert.equal(textsAt(text, 'a', '[]', 'b'), ['2'])
})

const TEXT = fc.string({ unit: fc.constantFrom('a', 'ü', '日', '😀', ' ') })

edit('has the same effect as replacing parts of the text', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(TEXT, TEXT, TEXT), { maxLength: 6 }), TEXT, (parts, last) => {
      let text = ''
      const edits = parts.map(([kept, old, fresh]) => {
        const from = Buffer.byteLength((text += kept))
        return { from, to: Buffer.byteLength((text += old)), text: fresh }
      })
      const expected = parts.map(([kept, , fresh]) => kept + fresh).join('') + last
      assert.is(applyEdits(Buffer.from(text + last), edits).toString(), expected)
    }),
  )
})

edit.run()
