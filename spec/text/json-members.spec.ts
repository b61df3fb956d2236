import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { internName } from '../../lib/text/json-members.ts'

const names = suite('interned names')

function read(text: string): string {
  const bytes = Buffer.from(`<${text}>`)
  return internName(bytes, 1, bytes.length - 1)
}

names('are the text of their bytes, at the first call and later', () => {
  const texts = ['model', 'messages', '', 'a', 'é', '模型', 'n'.repeat(32), 'n'.repeat(33), 'a\\"b']
  for (const text of [...texts, ...texts]) assert.is(read(text), text)
})

names('differ if one letter differs, at any position', () => {
  const word = 'completion_tokens'
  for (let at = 0; at < word.length; at++) {
    const other = `${word.slice(0, at)}X${word.slice(at + 1)}`
    for (const text of [word, other, word]) assert.is(read(text), text)
  }
})

names('do not change with the buffer that they were read from', () => {
  const bytes = Buffer.from('stream')
  assert.is(internName(bytes, 0, 6), 'stream')
  bytes.write('STREAM')
  assert.is(internName(bytes, 0, 6), 'STREAM')
  assert.is(read('stream'), 'stream')
})

names('stay correct with more names than cache slots', () => {
  const all = Array.from({ length: 2_000 }, (_, at) => `member_${at}`)
  for (const text of [...all, ...all.toReversed()]) assert.is(read(text), text)
})

names.run()
