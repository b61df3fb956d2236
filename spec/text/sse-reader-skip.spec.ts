// How the reader of an event stream skips events over its bound, if its owner wants the events after them.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { EventReader } from '../../lib/text/sse-reader.ts'
import { splits } from '../support/splits.ts'

function read(chunks: readonly Buffer[], maxBytes: number): string[] {
  const calls: string[] = []
  const owner = {
    event: (name: string, data: Buffer) => void calls.push(`${name}=${data.toString()}`),
    retry: (ms: number) => void calls.push(`retry ${ms}`),
    tooLong: (name: string) => void calls.push(`too long: ${name}`),
  }
  const reader = new EventReader(owner, maxBytes, 'skip')
  for (const chunk of chunks) reader.write(chunk, 0, chunk.length)
  return calls
}

function holds(wire: string, calls: string[], maxBytes = 5): void {
  for (const end of ['\n', '\r\n', '\r'])
    for (const chunks of splits(Buffer.from(wire.replaceAll('\n', end))))
      assert.equal(read(chunks, maxBytes), calls, JSON.stringify([wire, chunks[0]?.length]))
}

const skipping = suite('event reader that skips')

skipping('skips an event whose data is over the bound, and reads the next', () => {
  holds('data: 123456\n\ndata: a\n\n', ['too long: ', '=a'])
  holds('event: x\ndata: 123456\n\nevent: y\ndata: a\n\n', ['too long: x', 'y=a'])
  holds('data: 1\n\ndata: 123456', ['=1', 'too long: '])
})

skipping('skips all lines of it, whatever they contain', () => {
  holds('data: 123\ndata: 456\ndata: 7\nevent: z\nid: 1\nretry: 2\n: c\n\ndata: a\n\n', [
    'too long: ',
    '=a',
  ])
  holds('data\ndata\ndata\ndata\ndata\ndata\ndata\ndata\n\ndata: a\n\n', ['too long: ', '=a'])
})

skipping('skips an event with another field over the bound', () => {
  for (const field of ['event', 'id', 'retry'])
    holds(`${field}: 123456\ndata: a\n\ndata: b\n\n`, ['too long: ', '=b'])
})

skipping('reports and skips each event that is too long', () => {
  const long = 'data: 1234567890\n\n'
  holds(`${long}${long}data: a\n\n${long}data: b\n\n`, [
    'too long: ',
    'too long: ',
    '=a',
    'too long: ',
    '=b',
  ])
})

/** The same with an owner that takes the data of such events in pieces. */
function holdsPieces(wire: string, calls: string[]): void {
  for (const end of ['\n', '\r\n', '\r'])
    for (const chunks of splits(Buffer.from(wire.replaceAll('\n', end)))) {
      const seen: string[] = []
      let long = ''
      const owner = {
        event: (name: string, data: Buffer) => void seen.push(`${name}=${data.toString()}`),
        retry: () => {},
        tooLong: (name: string) => void seen.push(`too long: ${name}`),
        longData: (bytes: Buffer, from: number, to: number) =>
          void (long += bytes.toString('latin1', from, to)),
        longEnd: () => {
          seen.push(`long=${long}`)
          long = ''
        },
      }
      const reader = new EventReader(owner, 5, 'skip')
      for (const chunk of chunks) reader.write(chunk, 0, chunk.length)
      assert.equal(seen, calls, JSON.stringify([wire, chunks[0]?.length]))
    }
}

skipping('passes the data of an event over the bound in pieces to an owner that takes them', () => {
  holdsPieces('event: x\ndata: 123456\n\ndata: a\n\n', ['too long: x', 'long=123456', '=a'])
  holdsPieces('data: 123\ndata: 456\n: c\nid: 1\ndata:7\ndata\n\n', [
    'too long: ',
    'long=123\n456\n7\n',
  ])
  holdsPieces('data: 12345\ndata: 6\n\n', ['too long: ', 'long=12345\n6'])
  holdsPieces('data: 1\nevent: 123456\ndata: 2\n\n', ['too long: ', 'long=1\n2'])
  holdsPieces('event: 123456\ndata: 2\n\ndata: a\n\n', ['too long: ', 'long=2', '=a'])
})

skipping('is between two events only if no part of an event is held or skipped', () => {
  const between: string[] = []
  const quiet = (): void => {}
  const owner = { event: quiet, retry: quiet, tooLong: quiet }
  const reader = new EventReader(owner, 5, 'skip')
  for (const part of [
    '\n',
    'event: a\n',
    'data: 1\n',
    '\n',
    'data: 123456',
    '\n',
    '\n',
    ':',
    '\n',
  ]) {
    reader.write(Buffer.from(part), 0, part.length)
    between.push(reader.isBetweenEvents ? 'between' : 'within')
  }
  const [yes, no] = ['between', 'within']
  assert.equal(between, [yes, no, no, yes, no, no, yes, no, yes])
})

skipping('is not between events before the first byte, which may be a byte order mark', () => {
  const quiet = (): void => {}
  const reader = new EventReader({ event: quiet, retry: quiet, tooLong: quiet }, 5)
  assert.not(reader.isBetweenEvents)
})

skipping.run()
