// Sockets that one process passes to another, both in this process.

import { existsSync, openSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import type { Server } from 'node:net'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ListeningSockets } from '../../lib/core/listening-sockets.ts'
import { deadline } from '../support/deadline.ts'
import { Folder } from '../support/folder.ts'
import { Stage } from '../support/gateway.ts'

const sockets = suite('listening sockets')
const stage = new Stage()
sockets.after.each(() => stage.clear())

function server(text: string): Server {
  return createServer((socket) => socket.end(text))
}

async function open(
  from: ListeningSockets,
  text: string,
  path: string,
): Promise<{ close(): void }> {
  return deadline(from.open(server(text), { path }), 30_000, 'a socket')
}

async function answerAt(path: string): Promise<string> {
  return (await stage.client({ path })).untilClosed()
}

sockets('report the descriptors of all open sockets, by key', async () => {
  const all = new ListeningSockets()
  const address = { host: '127.0.0.1', port: 0 }
  const opened = await deadline(all.open(server('a'), address), 30_000, 'a port')
  assert.ok(opened.port > 0)
  assert.equal([...all.descriptors.keys()], ['127.0.0.1 0'])
  assert.ok([...all.descriptors.values()][0]! > 2)
  opened.close()
  assert.is(all.descriptors.size, 0)
})

sockets('on port 0 have a key each, and a successor inherits each', async () => {
  const address = { host: '127.0.0.1', port: 0 }
  const all = new ListeningSockets()
  const [one, two] = [server('a'), server('b')]
  const opening = Promise.all([all.open(one, address), all.open(two, address)])
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
    const inheriting = server('c')
    inheriting.listen = ((options: { fd: number }, done: () => void) => {
      assert.is(options.fd, fd)
      done()
      return inheriting
    }) as unknown as Server['listen']
    await deadline(next.open(inheriting, address), 30_000, 'an inherited socket')
  }
})

sockets('remove their file when they close, unless a successor listens on it', async () => {
  const path = stage.add(new Folder()).at('a.sock')
  const first = await open(new ListeningSockets(), 'first', path)
  assert.is(await answerAt(path), 'first')
  first.close()
  assert.not.ok(existsSync(path))

  const previous = new ListeningSockets()
  const second = await open(previous, 'second', path)
  previous.keepFilesOnClose()
  second.close()
  assert.ok(existsSync(path))
})

sockets('close without their file, and are opened again', async () => {
  const path = stage.add(new Folder()).at('a.sock')
  const previous = new ListeningSockets()
  const first = await open(previous, 'first', path)
  rmSync(path)
  previous.keepFilesOnClose()
  first.close()
  assert.is(previous.descriptors.size, 0)
  assert.not.ok(existsSync(path))

  const next = new ListeningSockets([[`unix:${path}`, openSync('/dev/null', 'r')]])
  const second = await open(next, 'second', path)
  assert.is(await answerAt(path), 'second')
  second.close()
})

sockets('that are inherited are recognised', async () => {
  const all = new ListeningSockets([['unix:/nowhere/a.sock', 99_999]])
  assert.ok(all.isInherited({ path: '/nowhere/a.sock' }))
  assert.not.ok(all.isInherited({ host: '127.0.0.1', port: 80 }))
})

sockets('are opened again if their file was removed, and connections stay open', async () => {
  const path = stage.add(new Folder()).at('a.sock')
  const all = new ListeningSockets()
  const echo = createServer((socket) => socket.pipe(socket))
  const opened = await deadline(all.open(echo, { path }), 30_000, 'a socket')
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

sockets('with a path that the system would truncate are refused', async () => {
  const path = stage.add(new Folder()).at('a'.repeat(120))
  const refused = open(new ListeningSockets(), 'a', path).then(
    String,
    (error: Error) => error.message,
  )
  assert.match(await refused, /^the path is longer than \d+ bytes$/)
  assert.not.ok(existsSync(path.slice(0, 107)))
})

sockets.run()
