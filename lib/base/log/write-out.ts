// Puts the text of the log on standard output: in one write, or, where other processes write there too, in pieces that the
// system keeps whole. It is never waited for: a pipe that nobody reads would hold a thread, and with it the end of the process.

import { fstatSync, write, writeSync } from 'node:fs'
import { neverBlock } from '../wire/handle.ts'

const STDOUT = 1

/** What a pipe takes in one go, whoever else writes (PIPE_BUF of Linux). A line above that goes alone. */
export const MAX_PIECE = 4096

/** How long a reader that is slow is left alone. */
const AGAIN_MS = 20
/** How long a process that exits waits for one. */
const EXIT_MS = 200

/** `done` is called when the text is out, with how many of its lines never will be. */
export type WriteOut = (text: string, done: (lost?: number) => void) => void

/** A reader that is gone, or a disk that is full, loses lines; it never stops the gateway. */
export function standardOut(): WriteOut {
  const place = fstatSync(STDOUT)
  if (!place.isFIFO() && !place.isSocket())
    return (text, done) => writeFile(Buffer.from(text, 'latin1'), done)
  // Node does not block on these. Each write hears of its fault by itself; however many logs there are, one listener is enough.
  if (!process.stdout.listeners('error').includes(ignore)) process.stdout.on('error', ignore)
  return (text, done) => {
    unblockOut()
    process.stdout.write(text, 'latin1', (error) =>
      error === null || error === undefined ? done() : done(linesIn(text)),
    )
  }
}

/**
 * Whether writes block is the same for all processes that share a pipe: each one that starts makes them block for all, and
 * so does one that ends and leaves it as it was.
 */
export function unblockOut(): void {
  neverBlock(process.stdout)
}

function ignore(): void {}

export function isFileOut(): boolean {
  return fstatSync(STDOUT).isFile()
}

export function inPieces(out: WriteOut): WriteOut {
  return (text, done) => {
    const pieces = piecesOf(text)
    let lost = 0
    const next = (more = 0): void => {
      lost += more
      const { value } = pieces.next()
      if (value === undefined) done(lost)
      else out(value, next)
    }
    next()
  }
}

/** Before it returns; what nobody takes is given up. */
export function writeOutNow(text: string): void {
  const until = performance.now() + EXIT_MS
  for (const piece of piecesOf(text)) {
    let bytes: Uint8Array = Buffer.from(piece, 'latin1')
    while (bytes.length > 0)
      try {
        unblockOut()
        bytes = bytes.subarray(writeSync(STDOUT, bytes))
      } catch (error) {
        // Nobody reads any more; there is no other place to say so.
        if ((error as NodeJS.ErrnoException).code !== 'EAGAIN' || performance.now() > until) return
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, AGAIN_MS)
      }
  }
}

/** Whole lines of ASCII. */
export function* piecesOf(text: string): Generator<string, undefined> {
  let from = 0
  while (from < text.length) {
    const fits = text.length - from <= MAX_PIECE
    const last = fits ? text.length - 1 : text.lastIndexOf('\n', from + MAX_PIECE - 1)
    const end = last >= from ? last : text.indexOf('\n', from)
    const to = end < 0 ? text.length : end + 1
    yield text.slice(from, to)
    from = to
  }
  return undefined
}

function writeFile(bytes: Buffer, done: (lost?: number) => void): void {
  write(STDOUT, bytes, (error, written) => {
    const rest = bytes.subarray(written ?? 0)
    if (error?.code === 'EAGAIN') setTimeout(() => writeFile(rest, done), AGAIN_MS)
    else if (error !== null) done(linesIn(rest.toString('latin1')))
    else if (rest.length > 0) writeFile(rest, done)
    else done()
  })
}

function linesIn(text: string): number {
  return text.split('\n').length - 1
}
