// How log text is split if several processes write to one output, which may have no reader.

import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, constants, openSync } from 'node:fs'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { MAX_PIPE_WRITE_BYTES, splitAtLines, createStdoutWriter } from '../../lib/core/log.ts'
import { childFile } from '../support/children/child-file.ts'
import { deadline } from '../support/deadline.ts'
import { Folder } from '../support/folder.ts'
import { Stage } from '../support/gateway.ts'

const WAIT_MS = 20_000

const out = suite('log output')
const stage = new Stage()
out.after.each(() => stage.clear())

out('splits text into whole lines that a pipe takes at once, and loses nothing', () => {
  for (const length of [1, 99, 4095, MAX_PIPE_WRITE_BYTES]) {
    const text = `${'x'.repeat(length - 1)}\n`.repeat(
      2 * Math.ceil(MAX_PIPE_WRITE_BYTES / length) + 3,
    )
    const pieces = [...splitAtLines(text)]
    assert.is(pieces.join(''), text)
    for (const piece of pieces) {
      assert.ok(piece.length <= MAX_PIPE_WRITE_BYTES)
      assert.ok(piece.endsWith('\n'))
    }
    assert.ok(pieces.length <= text.length / (MAX_PIPE_WRITE_BYTES - length + 1) + 1, `${length}`)
  }
})

out('writes a longer line alone', () => {
  const long = `${'x'.repeat(MAX_PIPE_WRITE_BYTES + 1)}\n`
  assert.equal([...splitAtLines(`a\n${long}b\nc\n`)], ['a\n', long, 'b\nc\n'])
})

out('writes text without a final line end, too', () => {
  assert.equal([...splitAtLines('')], [])
  assert.equal([...splitAtLines('a')], ['a'])
  const endless = 'x'.repeat(2 * MAX_PIPE_WRITE_BYTES)
  assert.equal([...splitAtLines(endless)], [endless])
})

// libuv sets what a child inherits to blocking, for every process that shares it: a full pipe then blocked the gateway.
out('is not blocked by a pipe without a reader that other processes share', async () => {
  const folder = stage.add(new Folder())
  const fifo = folder.at('log')
  execFileSync('mkfifo', [fifo])
  // A reader that never reads.
  const reader = openSync(fifo, constants.O_RDWR | constants.O_NONBLOCK)
  const words = ['-c', 'exec >"$0"; exec "$@"', fifo, process.execPath, childFile('shared-log')]
  const child = spawn('sh', words, { stdio: ['ignore', 'ignore', 'inherit'] })
  try {
    const [code] = (await deadline(once(child, 'exit'), WAIT_MS, 'its end')) as [number | null]
    assert.is(code, 0)
  } finally {
    child.kill('SIGKILL')
    closeSync(reader)
  }
})

out('adds one error listener to standard output for any number of logs', () => {
  const before = process.stdout.listenerCount('error')
  for (let count = 0; count < 3; count++) createStdoutWriter()
  // None if it is a file.
  assert.ok(process.stdout.listenerCount('error') - before <= 1)
})

out.run()
