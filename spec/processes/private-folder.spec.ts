// The folder of private sockets, and its repair after it was removed.

import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  rmSync,
  rmdirSync,
  symlinkSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ListeningSockets } from '../../lib/core/listening-sockets.ts'
import {
  ensurePrivateFolder,
  watchPrivateFolder,
  createPrivateFolder,
} from '../../lib/processes/private-folder.ts'
import { deadline } from '../support/deadline.ts'
import { Folder } from '../support/folder.ts'
import { LogRecorder, Stage } from '../support/gateway.ts'
import type { Line } from '../support/gateway.ts'
import { HandTimer } from '../support/hand-timer.ts'

const folder = suite('workers/private-folder')
const stage = new Stage()
folder.after.each(() => stage.clear())

folder('is created again when it is missing, and kept when it exists', () => {
  const path = stage.add(new Folder()).at('a')
  ensurePrivateFolder(path)
  mkdirSync(`${path}/kept`)
  ensurePrivateFolder(path)
  assert.ok(lstatSync(`${path}/kept`).isDirectory())
  rmdirSync(`${path}/kept`)
  rmdirSync(path)
  ensurePrivateFolder(path)
  assert.is(lstatSync(path).mode & 0o777, 0o700)
})

folder('is refused when others can read it, or when it is a link', () => {
  const all = stage.add(new Folder())
  ensurePrivateFolder(all.at('a'))
  chmodSync(all.at('a'), 0o755)
  assert.throws(() => ensurePrivateFolder(all.at('a')), /is not private/)
  mkdirSync(all.at('b'), { mode: 0o700 })
  symlinkSync(all.at('b'), all.at('c'))
  assert.throws(() => ensurePrivateFolder(all.at('c')), /is not private/)
})

folder('is created where every socket path fits; otherwise the error says why', () => {
  const short = stage.add(new Folder())
  const long = short.at('l'.repeat(80))
  mkdirSync(long)
  assert.ok(createPrivateFolder([long, short.path]).startsWith(short.at('gateway-')))
  assert.throws(
    () => createPrivateFolder([long, short.at('none')]),
    /cannot create a folder for private sockets .*l is longer than 7\d bytes.*; ENOENT/,
  )
})

folder('is created again with its sockets after it was removed', async () => {
  const path = stage.add(new Folder()).at('a')
  const lines: Line[] = []
  const log = new LogRecorder((line) => lines.push(line))
  const timer = new HandTimer()
  const sockets = new ListeningSockets()
  ensurePrivateFolder(path)
  const opened = sockets.open(createServer(), { path: `${path}/s` })
  stage.add(await deadline(opened, 30_000, 'a socket'))
  watchPrivateFolder(path, sockets, log, timer.every)
  timer.turn()
  rmSync(path, { recursive: true })
  timer.turn()
  assert.ok(existsSync(`${path}/s`))
  chmodSync(path, 0o755)
  timer.turn()
  timer.turn()
  chmodSync(path, 0o700)
  assert.equal(
    lines.map(({ message }) => message),
    ['private sockets were removed and created again', 'cannot create private sockets again'],
  )
})

folder.run()
