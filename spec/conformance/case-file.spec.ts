import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { blocksOf, conversationOf, parseCaseFile } from '../../conformance/case-file.ts'

const FENCE = '```'
const FILE = `# Title

Prose.

${FENCE}config
gateways: {}
${FENCE}

## First case

§7 "a sentence".

${FENCE}request 1 every split
GET / HTTP/1.1

${FENCE}

${FENCE}response
HTTP/1.1 200 OK
${FENCE}

## Second case

${FENCE}config
other: 1
${FENCE}

${FENCE}exit
1
${FENCE}
`

const caseFile = suite('case file')

caseFile('finds the cases and their blocks', () => {
  const { shared, cases } = parseCaseFile('a.md', FILE)
  assert.equal(shared, [{ kind: 'config', info: '', text: 'gateways: {}', line: 5 }])
  assert.equal(
    cases.map(({ title, line }) => [title, line]),
    [
      ['First case', 9],
      ['Second case', 22],
    ],
  )
  assert.equal(cases[0]?.blocks, [
    { kind: 'request', info: '1 every split', text: 'GET / HTTP/1.1\n', line: 13 },
    { kind: 'response', info: '', text: 'HTTP/1.1 200 OK', line: 18 },
  ])
})

caseFile('prefers the blocks of a case to the shared ones', () => {
  const file = parseCaseFile('a.md', FILE)
  const texts = file.cases.map((aCase) => blocksOf(file, aCase, 'config').map(({ text }) => text))
  assert.equal(texts, [['gateways: {}'], ['other: 1']])
})

caseFile('plays the blocks before the first case at the start of every case', () => {
  const opening = `${FENCE}request\nopen\n${FENCE}\n`
  const file = parseCaseFile('a.md', opening + FILE)
  const texts = file.cases.map((aCase) => conversationOf(file, aCase).map(({ text }) => text))
  assert.equal(texts, [['open', 'GET / HTTP/1.1\n', 'HTTP/1.1 200 OK'], []])
})

caseFile('refuses what it does not know, by file and line', () => {
  const parse = (markdown: string) => () => parseCaseFile('a.md', markdown)
  assert.throws(parse(`\n${FENCE}requests\n${FENCE}\n`), /^a\.md:2: unknown block `requests`/)
  assert.throws(parse(`## A\n${FENCE}request\n`), /^a\.md:2: block is not closed/)
  assert.throws(parse(`## A\n${FENCE}config\n${FENCE}\n`), /^a\.md:1: case without an expectation/)
  const twice = `## A\n${FENCE}exit\n1\n${FENCE}\n`
  assert.throws(parse(twice + twice), /^a\.md:5: two cases with the same title/)
})

caseFile.run()
