// Every way in which a file changes, and none in which it does not.

import {
  appendFileSync,
  chmodSync,
  readFileSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { FileWatcher } from '../../lib/config/watch-files.ts'
import { deadline } from '../support/deadline.ts'
import { Folder } from '../support/folder.ts'

const WAIT_MS = 30_000
const LOOK_MS = 10

/** A watch that counts what it tells. */
class Watched {
  count = 0
  readonly watch = new FileWatcher(() => {
    this.count++
    this.#wake?.()
  }, LOOK_MS)
  #wake: (() => void) | null = null

  static async of(...paths: string[]): Promise<Watched> {
    const watched = new Watched()
    watches.push(watched.watch)
    await watched.watch.watch(paths, Date.now())
    return watched
  }

  /** Waits for this many changes since the beginning. */
  async changes(count: number): Promise<void> {
    while (this.count < count)
      await deadline(
        new Promise<void>((resolve) => (this.#wake = resolve)),
        WAIT_MS,
        `change ${count}`,
      )
  }
}

let folder: Folder
const watches: FileWatcher[] = []

/** Long enough for every watch to look twice: another one noticed a change meanwhile. */
async function looks(): Promise<void> {
  const clock = await Watched.of(folder.write('clock', '0'))
  for (let tick = 1; tick <= 2; tick++) {
    folder.write('clock', `${tick}${'.'.repeat(tick)}`)
    await clock.changes(tick)
  }
  clock.watch.close()
}

const watching = suite('base/config/watch')

watching.before.each(() => {
  folder = new Folder()
})
watching.after.each(() => {
  for (const watch of watches.splice(0)) watch.close()
  folder.close()
})

watching('tells of a file that is written anew in place', async () => {
  const watched = await Watched.of(folder.write('a.yaml', 'one'))
  folder.write('a.yaml', 'other')
  await watched.changes(1)
  await looks()
  assert.is(watched.count, 1)
})

watching('tells of a file that another one takes the place of, again and again', async () => {
  const watched = await Watched.of(folder.write('a.yaml', 'one'))
  for (let change = 1; change <= 3; change++) {
    folder.replace('a.yaml', `two${change}`)
    await watched.changes(change)
  }
})

watching('tells of a replaced file with the size and time of the old one', async () => {
  const path = folder.write('a.yaml', 'one')
  const { atime, mtime } = statSync(path)
  const watched = await Watched.of(path)
  utimesSync(folder.write('b.yaml', 'two'), atime, mtime)
  folder.replace('a.yaml', 'two')
  utimesSync(path, atime, mtime)
  await watched.changes(1)
})

watching(
  'tells of a mounted volume that is swapped as a whole, once for all its files',
  async () => {
    folder.mount('1', { 'a.yaml': 'one', 'b.yaml': 'one' })
    folder.link('a.yaml', 'b.yaml')
    const watched = await Watched.of(folder.at('a.yaml'), folder.at('b.yaml'), folder.path)
    // Same sizes, and nothing happens to the files the names lead to.
    folder.mount('2', { 'a.yaml': 'two', 'b.yaml': 'two' })
    await watched.changes(1)
    await looks()
    assert.is(watched.count, 1)
  },
)

watching('waits until a file is written to its end', async () => {
  const path = folder.write('a.yaml', '')
  const watched = await Watched.of(path)
  let seen = ''
  const told = watched.changes(1).then(() => (seen = readFileSync(path, 'utf8')))
  const writing = new Promise<void>((resolve) => {
    const write = (left: number): void => {
      appendFileSync(path, '.')
      if (left > 0) setImmediate(write, left - 1)
      else resolve()
    }
    write(3000)
  })
  await deadline(writing, WAIT_MS, 'the file to be written')
  await told
  assert.is(seen.length, 3001)
})

watching('tells of files that a folder gains, loses and changes', async () => {
  folder.write('a.yaml', 'one')
  const watched = await Watched.of(folder.path)
  folder.write('b.yml', 'two')
  await watched.changes(1)
  folder.write('b.yml', 'three')
  await watched.changes(2)
  folder.remove('b.yml')
  await watched.changes(3)
})

watching('passes over what a folder is not read for', async () => {
  folder.write('a.yaml', 'one')
  const watched = await Watched.of(folder.path)
  folder.write('notes.txt', 'x')
  folder.write('.a.yaml.swp', 'x')
  folder.write('a.yaml~', 'x')
  await looks()
  assert.is(watched.count, 0)
})

watching('does not follow a link that leads in circles', async () => {
  folder.write('a.yaml', 'one')
  symlinkSync('.', folder.at('circle.yaml'))
  symlinkSync('self.yaml', folder.at('self.yaml'))
  const watched = await Watched.of(folder.path)
  folder.write('a.yaml', 'other')
  await watched.changes(1)
})

watching('tells of a file that vanishes, and of its return', async () => {
  const path = folder.write('a.yaml', 'one')
  const watched = await Watched.of(path)
  folder.remove('a.yaml')
  await watched.changes(1)
  writeFileSync(path, 'one')
  await watched.changes(2)
})

watching('tells of a file that may be read from now on', async () => {
  const path = folder.write('a.yaml', 'one')
  chmodSync(path, 0)
  const watched = await Watched.of(path)
  chmodSync(path, 0o644)
  await watched.changes(1)
})

watching('tells of a change between reading a file and watching it', async () => {
  const watched = new Watched()
  watches.push(watched.watch)
  const path = folder.write('a.yaml', 'one')
  await watched.watch.watch([path], statSync(path).ctimeMs - 1)
  await watched.changes(1)
})

watching('a file it knows is not told of again with a new list', async () => {
  const path = folder.write('a.yaml', 'one')
  const watched = await Watched.of(path)
  await watched.watch.watch([path, folder.write('key.pem', 'k')], Date.now() + WAIT_MS)
  await looks()
  assert.is(watched.count, 0)
  folder.write('key.pem', 'other')
  await watched.changes(1)
})

watching('passes over files that left the list', async () => {
  const key = folder.write('key.pem', 'k')
  const path = folder.write('a.yaml', 'one')
  const watched = await Watched.of(path, key)
  await watched.watch.watch([path], Date.now())
  folder.write('key.pem', 'other')
  await looks()
  assert.is(watched.count, 0)
})

watching('what was taken just now is no change', async () => {
  const watched = await Watched.of(folder.write('a.yaml', 'one'))
  folder.write('a.yaml', 'other')
  await watched.watch.takeBaseline()
  await looks()
  assert.is(watched.count, 0)
  folder.write('a.yaml', 'one more')
  await watched.changes(1)
})

watching('tells nothing once it is closed, whatever comes', async () => {
  const path = folder.write('a.yaml', 'one')
  const watched = await Watched.of(path)
  watched.watch.close()
  folder.write('a.yaml', 'other')
  await watched.watch.watch([path], 0)
  await looks()
  assert.is(watched.count, 0)
})

watching.run()
