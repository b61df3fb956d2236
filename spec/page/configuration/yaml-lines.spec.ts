// Splits YAML into sections, coloured parts and matches.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import {
  cutAt,
  jumpsOf,
  matchesIn,
  partsOf,
  sectionsOf,
} from '../../../lib/page/configuration/yaml-lines.ts'

const yaml = suite('page/yaml-lines')

const TEXT = `# of a file
gateways:
  default: # a.yaml:2:3
    port: 3000
"odd: name":
  - name: chat # a.yaml:5:5
    text: "a # b: c"
routes: []
`

yaml('folds at the names of the top level', () => {
  const sections = sectionsOf(TEXT)
  assert.equal(
    sections.map(({ name, first, lines }) => [name, first, lines.length]),
    [
      ['', 1, 1],
      ['gateways', 2, 3],
      ['"odd: name"', 5, 3],
      ['routes', 8, 1],
    ],
  )
  assert.is(sections.flatMap(({ lines }) => lines).join('\n') + '\n', TEXT)
})

yaml('has one section when there is no top-level key', () => {
  assert.equal(sectionsOf(''), [{ name: '', first: 1, lines: [''] }])
})

yaml('separates keys, values and comments', () => {
  const cases = [
    ['# of a file', ['', '', '', '# of a file']],
    ['gateways:', ['', 'gateways:', '', '']],
    ['  default: # a.yaml:2:3', ['  ', 'default:', '', ' # a.yaml:2:3']],
    ['  - name: chat # a.yaml:5:5', ['  - ', 'name:', ' chat', ' # a.yaml:5:5']],
    ['  - "a # b"', ['  - ', '', '"a # b"', '']],
    ['  text: "a # b: \\" # c" # d', ['  ', 'text:', ' "a # b: \\" # c"', ' # d']],
    ["  text: 'a \"b\": ''c'' # d' # e", ['  ', 'text:', " 'a \"b\": ''c'' # d'", ' # e']],
    ['  \'odd: "name"\': 1', ['  ', '\'odd: "name"\':', ' 1', '']],
    ["  - don't # a", ['  - ', '', "don't", ' # a']],
    ['  "odd: name": 1', ['  ', '"odd: name":', ' 1', '']],
    ['  - http://a:80/b', ['  - ', '', 'http://a:80/b', '']],
    ['', ['', '', '', '']],
  ] as const
  for (const [line, parts] of cases) assert.equal(Object.values(partsOf(line)), [...parts], line)
})

yaml('keeps every character of any line', () => {
  const odd = ['  - - a: b', '"', '  "a', ':', ' : #', '- # x', '\ta: "b" c # "d"', 'a:b # c']
  for (const line of [...TEXT.split('\n'), ...odd])
    assert.is(Object.values(partsOf(line)).join(''), line)
})

yaml('links to every named item', () => {
  const text = 'a:\n  - name: b # x\n    list:\n      - key: c/d\n      - d\ne: 1\n'
  const jumps = [
    { label: 'a', line: 1, depth: 0 },
    { label: 'b', line: 2, depth: 1 },
    { label: 'c/d', line: 4, depth: 2 },
    { label: 'e', line: 6, depth: 0 },
  ]
  assert.equal(jumpsOf(sectionsOf(text), 10), jumps)
  assert.equal(jumpsOf(sectionsOf(text), 2), jumps.slice(0, 2))
})

yaml('is searched in any case, up to a bound', () => {
  const sections = sectionsOf(TEXT)
  assert.equal(matchesIn(sections, 'A.YAML', 10), [
    { line: 3, section: 1 },
    { line: 6, section: 2 },
  ])
  assert.is(matchesIn(sections, 'a.yaml', 1).length, 1)
  assert.equal(matchesIn(sections, '', 10), [])
  assert.equal(matchesIn(sections, 'nowhere', 10), [])
})

yaml('is split at the matches', () => {
  assert.equal(cutAt('chat and Chat', 'chat'), ['', 'chat', ' and ', 'Chat', ''])
  assert.equal(cutAt('aaa', 'aa'), ['', 'aa', 'a'])
  assert.equal(cutAt('abc', ''), ['abc'])
  assert.equal(cutAt('abc', 'x'), ['abc'])
  assert.equal(cutAt('İ chat', 'chat'), ['İ chat'])
})

yaml.run()
