// Sockets that one process leaves to another, both in this one.

import { existsSync, openSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import type { Server } from 'node:net'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ListeningSockets } from '../../lib/core/listening-sockets.ts'
import { deadline } from '../support/deadline.ts'
import { Folder } from '../support/folder.ts'
import { Stage } from '../support/gateway.ts'

const sockets = suite('base/processes/sockets')
const stage = new Stage()
sockets.after.each(() => stage.clear())

function server(word: string): Server {
  return createServer((socket) => socket.end(word))
}

async function open(
  from: ListeningSockets,
  word: string,
  path: string,
): Promise<{ close(): void }> {
  return deadline(from.open(server(word), { path }), 30_000, 'a socket')
}

async function answerAt(path: string): Promise<string> {
  return (await stage.client({ path })).untilClosed()
}

sockets('tell the descriptors of all that are open, by place', async () => {
  const all = new ListeningSockets()
  const place = { host: '127.0.0.1', port: 0 }
  const opened = await deadline(all.open(server('a'), place), 30_000, 'a port')
  assert.ok(opened.port > 0)
  assert.equal([...all.descriptors.keys()], ['127.0.0.1 0'])
  assert.ok([...all.descriptors.values()][0]! > 2)
  opened.close()
  assert.is(all.descriptors.size, 0)
})

sockets('several on port 0 of one host are as many, and a successor is given each', async () => {
  const place = { host: '127.0.0.1', port: 0 }
  const all = new ListeningSockets()
  const [one, two] = [server('a'), server('b')]
  const opening = Promise.all([all.open(one, place), all.open(two, place)])
  const [first, second] = await deadline(opening, 30_000, 'two ports')
  assert.equal([...all.descriptors.keys()], ['127.0.0.1 0', '127.0.0.1 0 2'])
  first.close()
  assert.equal([...all.descriptors.keys()], ['127.0.0.1 0 2'])
  second.close()

  const next = new ListeningSockets([
    ['127.0.0.1 0', 99_998],
    ['127.0.0.1 0 2', 99_999],
  ])
  for (const fd of [99_998, 99_999]) {
    const asked = server('c')
    asked.listen = ((given: { fd: number }, done: () => void) => {
      assert.is(given.fd, fd)
      done()
      return asked
    }) as unknown as Server['listen']
    await deadline(next.open(asked, place), 30_000, 'a given one')
  }
})

sockets('a file goes with its socket, but not when a successor listens there', async () => {
  const path = stage.add(new Folder()).at('a.sock')
  const first = await open(new ListeningSockets(), 'first', path)
  assert.is(await answerAt(path), 'first')
  first.close()
  assert.not.ok(existsSync(path))

  const left = new ListeningSockets()
  const second = await open(left, 'second', path)
  left.keepFilesOnClose()
  second.close()
  assert.ok(existsSync(path))
})

sockets('a socket whose file is gone closes all the same, and is opened anew', async () => {
  const path = stage.add(new Folder()).at('a.sock')
  const left = new ListeningSockets()
  const first = await open(left, 'first', path)
  rmSync(path)
  left.keepFilesOnClose()
  first.close()
  assert.is(left.descriptors.size, 0)
  assert.not.ok(existsSync(path))

  const next = new ListeningSockets([[`unix:${path}`, openSync('/dev/null', 'r')]])
  const second = await open(next, 'second', path)
  assert.is(await answerAt(path), 'second')
  second.close()
})

sockets('what is given is not opened anew, and is given once', async () => {
  const all = new ListeningSockets([['unix:/nowhere/a.sock', 99_999]])
  assert.ok(all.isInherited({ path: '/nowhere/a.sock' }))
  assert.not.ok(all.isInherited({ host: '127.0.0.1', port: 80 }))
})

sockets('a file that somebody removed is made anew, and who was connected stays', async () => {
  const path = stage.add(new Folder()).at('a.sock')
  const all = new ListeningSockets()
  const talking = createServer((socket) => socket.pipe(socket))
  const opened = await deadline(all.open(talking, { path }), 30_000, 'a socket')
  const before = await stage.client({ path })
  before.send('one')
  await before.until(/one/)
  assert.equal(all.reopenRemoved(), [])
  rmSync(path)
  assert.equal(all.reopenRemoved(), [path])
  const after = await stage.client({ path })
  for (const client of [before, after]) {
    client.send('two')
    await client.until(/two/)
  }
  opened.close()
  assert.not.ok(existsSync(path))
  assert.equal(all.reopenRemoved(), [])
})

sockets('a path that the system would cut is refused', async () => {
  const path = stage.add(new Folder()).at('a'.repeat(120))
  const refused = open(new ListeningSockets(), 'a', path).then(
    String,
    (error: Error) => error.message,
  )
  assert.match(await refused, /^the path is longer than \d+ bytes$/)
  assert.not.ok(existsSync(path.slice(0, 107)))
})

sockets.run()
