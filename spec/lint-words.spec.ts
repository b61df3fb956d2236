// The word check of `npm run lint`: which words it reports, where, and which uses it accepts.

import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ROOT } from './support/root.ts'

/** What the check prints about a file with this text, without the folder. */
function check(text: string, name = 'sample.ts'): { status: number | null; lines: string[] } {
  const folder = mkdtempSync(join(tmpdir(), 'lint-words-'))
  try {
    writeFileSync(join(folder, name), text)
    const args = [join(ROOT, 'lint-words.mjs'), name]
    const { status, stdout } = spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8' })
    return { status, lines: stdout.split('\n').filter((line) => line !== '') }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** `line: "word"` of each report. */
function wordsOf(text: string, name?: string): string[] {
  return check(text, name).lines.map((line) =>
    line.replace(/^[^:]+:(\d+): ("[^"]+"):.*$/, '$1: $2'),
  )
}

const words = suite('lint words')

words('fails on a bad sentence, and names file, line, word and replacement', () => {
  const { status, lines } = check('// Fine.\nconst a = 1 // nobody waits here\n')
  assert.is(status, 1)
  assert.is(lines.length, 1)
  assert.match(lines[0] ?? '', /^sample\.ts:2: "nobody": name the role/)
})

words('passes a plain sentence', () => {
  assert.equal(check('// The client closed the connection before the response head.\n'), {
    status: 0,
    lines: [],
  })
})

words('reads comments, texts and names', () => {
  const text = "// whoever comes\nconst beside = 'stands behind it'\n"
  assert.equal(wordsOf(text), ['1: "whoever"', '2: "beside"', '2: "stands"', '2: "behind"'])
})

words('finds a phrase that is broken over two lines of a comment', () => {
  assert.equal(wordsOf('// A provider that failed is left\n// alone for a while.\n'), [
    '1: "left alone"',
  ])
})

words('accepts the ordinary meaning of a word', () => {
  const text =
    '// Run it behind a load balancer, behind a\n// proxy, or behind NAT. `*` stands for any name.\n' +
    '// A stand-in for users who have no key.\n'
  assert.equal(wordsOf(text), [])
})

words('leaves out data of tests, but not texts', () => {
  const data = "call('nobody'); login('nobody:secret'); get('/a?who=x&b=c'); read(jwt.who)\n"
  assert.equal(wordsOf(data), [])
  assert.equal(wordsOf("throw new Error('nobody listens')\n"), ['1: "nobody"'])
})

words('leaves out the wire bytes of a conformance case, but reads the prose of other pages', () => {
  assert.equal(wordsOf('```\nnobody\n```\n', 'page.md'), ['2: "nobody"'])
})

words.run()
