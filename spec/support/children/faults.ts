// Child processes with one fault each.
//   node faults.js <fault> [number]

import { spawn } from 'node:child_process'
import { closeSync, writeSync } from 'node:fs'
import { pipeline } from 'node:stream'
import { childFile } from './child-file.ts'

const [fault = '', number = '0'] = process.argv.slice(2)
const count = Number(number)

const STDIN = 0
const STDOUT = 1

const FAULTS: Record<string, () => void> = {
  /** No fault: copies input to output. */
  echo,
  /** Writes one byte at a time, so that each is read alone. */
  split: () => void writeSlowly(Buffer.from(note({ text: 'grün 語 🜁' }))),
  /** Lines that are not messages, and then an echo. */
  banner: () => {
    process.stdout.write('Server started\n\n \n[]\n{"jsonrpc":"1.0"}\n')
    for (let i = 0; i < count; i++) process.stdout.write(`tick ${i} password=secret\n`)
    process.stdout.write(note({ ready: true }))
    echo()
  },
  /** A message in another encoding. */
  latin1: () => {
    process.stdout.write(Buffer.from(note({ text: 'gr\xfcn' }), 'latin1'))
    echo()
  },
  /** Two messages and a number in one line. */
  batch: () => {
    const two = [note({ n: 1 }), note({ n: 2 })].map((line) => line.trim()).join(',')
    process.stdout.write(`[${two},7]\n`)
    echo()
  },
  /** One message and half of the next, then exits. */
  half: () => process.stdout.write(note({ n: 1 }) + note({ n: 2 }).slice(0, 20)),
  /** A message of that many bytes without its end. */
  long: () => {
    process.stdout.write('{"x":"' + 'x'.repeat(count))
    echo()
  },
  /** Numbered messages without end, as fast as they are read. */
  flood: () => {
    for (let n = 0; ; n++) writeAll(note({ n, fill: 'x'.repeat(1_000) }))
  },
  /** Never reads. */
  deaf: () => {
    process.stdout.write(note({ ready: true }))
    stay()
  },
  /** Closes its output, and stays. */
  mute: () => {
    process.stdout.write(note({ ready: true }), () => closeSync(STDOUT))
    stay()
  },
  /** Closes its input, and stays. */
  shut: () => {
    closeSync(STDIN)
    process.stdout.write(note({ ready: true }))
    stay()
  },
  /** Ignores the end of its input and SIGTERM. */
  stubborn: () => {
    process.on('SIGTERM', () => {})
    process.stdout.write(note({ ready: true, pid: process.pid }))
    stay()
  },
  /** A wrapper of `stubborn`, which keeps the output open; exits when its input ends, or soon with that code. */
  fork: () => {
    spawn(process.execPath, [childFile('faults'), 'stubborn'], { stdio: 'inherit' })
    if (process.argv.length > 3) setTimeout(() => process.exit(count), 200)
    process.stdin.on('end', () => process.exit(0)).resume()
  },
  /** A wrapper that exits while its `flood` child goes on. */
  pour: () => {
    spawn(process.execPath, [childFile('faults'), 'flood'], { stdio: 'inherit' }).unref()
    setTimeout(() => process.exit(0), 200)
  },
  /** A wrapper with a child in its own process group, which signals to this group do not reach; it exits after that many milliseconds. */
  escape: () => {
    const file = childFile('faults')
    spawn(process.execPath, [file, 'linger', number], { stdio: 'inherit', detached: true }).unref()
    process.stdin.on('end', () => process.exit(0)).resume()
  },
  linger: () => {
    process.stdout.write(note({ ready: true, pid: process.pid }))
    setTimeout(() => process.exit(0), count)
  },
  /** That many lines on standard error, the last of them long, then an echo. */
  stderr: () => {
    for (let i = 0; i < count; i++) process.stderr.write(`line ${i} of ${count}\n`)
    process.stderr.write('é'.repeat(5_000) + '\n')
    process.stdout.write(note({ ready: true }))
    echo()
  },
  /** Exits at once with that code. */
  exit: () => process.exit(count),
}

function note(params: Record<string, unknown>): string {
  return JSON.stringify({ jsonrpc: '2.0', method: 'note', params }) + '\n'
}

function echo(): void {
  pipeline(process.stdin, process.stdout, () => {})
}

function stay(): void {
  setInterval(() => {}, 60_000)
}

/** Works on blocking and non-blocking pipes. */
function writeAll(text: string): void {
  let bytes = Buffer.from(text)
  while (bytes.length > 0)
    try {
      bytes = bytes.subarray(writeSync(STDOUT, bytes))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') process.exit(1)
    }
}

async function writeSlowly(bytes: Buffer): Promise<void> {
  for (const byte of bytes) {
    await new Promise((resolve) => process.stdout.write(Buffer.of(byte), resolve))
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
  echo()
}

FAULTS[fault]!()
