// The folder of private sockets, when somebody has been there.

import { chmodSync, lstatSync, mkdirSync, rmdirSync, symlinkSync } from 'node:fs'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ensurePrivate } from '../../lib/workers/private-folder.ts'
import { Folder } from '../support/folder.ts'
import { Stage } from '../support/gateway.ts'

const folder = suite('workers/private-folder')
const stage = new Stage()
folder.after.each(() => stage.clear())

folder('is made anew when it is gone, and left when it is there', () => {
  const path = stage.add(new Folder()).at('a')
  ensurePrivate(path)
  mkdirSync(`${path}/kept`)
  ensurePrivate(path)
  assert.ok(lstatSync(`${path}/kept`).isDirectory())
  rmdirSync(`${path}/kept`)
  rmdirSync(path)
  ensurePrivate(path)
  assert.is(lstatSync(path).mode & 0o777, 0o700)
})

folder('is not taken for private when others may look into it, or it lies elsewhere', () => {
  const all = stage.add(new Folder())
  ensurePrivate(all.at('a'))
  chmodSync(all.at('a'), 0o755)
  assert.throws(() => ensurePrivate(all.at('a')), /is not private/)
  mkdirSync(all.at('b'), { mode: 0o700 })
  symlinkSync(all.at('b'), all.at('c'))
  assert.throws(() => ensurePrivate(all.at('c')), /is not private/)
})

folder.run()
