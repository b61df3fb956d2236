// Puts the text of the log on standard output: in one write, or, where other processes write there too, in pieces that the
// system keeps whole.

import { write, writeSync } from 'node:fs'

const STDOUT = 1

/** What a pipe takes in one go, whoever else writes (PIPE_BUF of Linux). A line above that goes alone. */
export const MAX_PIECE = 4096

/** How long a reader that is slow is left alone. */
const AGAIN_MS = 20

export type WriteOut = (text: string, done: () => void) => void

/** A reader that is gone loses lines; it never stops the gateway. */
export const writeOut: WriteOut = (text, done) => writeAll(Buffer.from(text, 'latin1'), done)

export const writePieces: WriteOut = (text, done) => {
  const pieces = piecesOf(text)
  const next = (): void => {
    const { value } = pieces.next()
    if (value === undefined) done()
    else writeOut(value, next)
  }
  next()
}

/** Before it returns. */
export function writeOutNow(text: string): void {
  for (const piece of piecesOf(text)) {
    let bytes: Uint8Array = Buffer.from(piece, 'latin1')
    while (bytes.length > 0) bytes = bytes.subarray(writeSync(STDOUT, bytes))
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

function writeAll(bytes: Buffer, done: () => void): void {
  write(STDOUT, bytes, (error, written) => {
    const rest = bytes.subarray(written ?? 0)
    if (error?.code === 'EAGAIN') setTimeout(() => writeAll(rest, done), AGAIN_MS)
    else if (error === null && rest.length > 0) writeAll(rest, done)
    else done()
  })
}
