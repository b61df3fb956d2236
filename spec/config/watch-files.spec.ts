// The watch reports every kind of change of a file, and nothing else.

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

/** A watch that counts the changes it reports. */
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
    // Date.now() is rounded down, and times of files are not: a file that was just written could look newer.
    await watched.watch.watch(paths, Date.now() + 1)
    return watched
  }

  /** Waits until this many changes were reported. */
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

/** Waits until every watch has looked twice: another watch has reported two changes meanwhile. */
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

watching('reports a file that is rewritten in place', async () => {
  const watched = await Watched.of(folder.write('a.yaml', 'one'))
  folder.write('a.yaml', 'other')
  await watched.changes(1)
  await looks()
  assert.is(watched.count, 1)
})

watching('reports a file that is replaced by another, several times', async () => {
  const watched = await Watched.of(folder.write('a.yaml', 'one'))
  for (let change = 1; change <= 3; change++) {
    folder.replace('a.yaml', `two${change}`)
    await watched.changes(change)
  }
})

watching('reports a replaced file with the size and time of the old one', async () => {
  const path = folder.write('a.yaml', 'one')
  const { atime, mtime } = statSync(path)
  const watched = await Watched.of(path)
  utimesSync(folder.write('b.yaml', 'two'), atime, mtime)
  folder.replace('a.yaml', 'two')
  utimesSync(path, atime, mtime)
  await watched.changes(1)
})

watching('reports a mounted volume that is swapped, once for all its files', async () => {
  folder.mount('1', { 'a.yaml': 'one', 'b.yaml': 'one' })
  folder.link('a.yaml', 'b.yaml')
  const watched = await Watched.of(folder.at('a.yaml'), folder.at('b.yaml'), folder.path)
  // Same sizes, and nothing happens to the files the names lead to.
  folder.mount('2', { 'a.yaml': 'two', 'b.yaml': 'two' })
  await watched.changes(1)
  await looks()
  assert.is(watched.count, 1)
})

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

watching('reports files that are added to a folder, removed and changed', async () => {
  folder.write('a.yaml', 'one')
  const watched = await Watched.of(folder.path)
  folder.write('b.yml', 'two')
  await watched.changes(1)
  folder.write('b.yml', 'three')
  await watched.changes(2)
  folder.remove('b.yml')
  await watched.changes(3)
})

watching('ignores files of a folder that are not configuration', async () => {
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

watching('reports a file that is removed, and its return', async () => {
  const path = folder.write('a.yaml', 'one')
  const watched = await Watched.of(path)
  folder.remove('a.yaml')
  await watched.changes(1)
  writeFileSync(path, 'one')
  await watched.changes(2)
})

watching('reports a file that becomes readable', async () => {
  const path = folder.write('a.yaml', 'one')
  chmodSync(path, 0)
  const watched = await Watched.of(path)
  chmodSync(path, 0o644)
  await watched.changes(1)
})

watching('reports a change between reading a file and watching it', async () => {
  const watched = new Watched()
  watches.push(watched.watch)
  const path = folder.write('a.yaml', 'one')
  await watched.watch.watch([path], statSync(path).ctimeMs - 1)
  await watched.changes(1)
})

watching('a known file is not reported again with a new list', async () => {
  const path = folder.write('a.yaml', 'one')
  const watched = await Watched.of(path)
  await watched.watch.watch([path, folder.write('key.pem', 'k')], Date.now() + WAIT_MS)
  await looks()
  assert.is(watched.count, 0)
  folder.write('key.pem', 'other')
  await watched.changes(1)
})

watching('ignores files that were removed from the list', async () => {
  const key = folder.write('key.pem', 'k')
  const path = folder.write('a.yaml', 'one')
  const watched = await Watched.of(path, key)
  await watched.watch.watch([path], Date.now())
  folder.write('key.pem', 'other')
  await looks()
  assert.is(watched.count, 0)
})

watching('a file that was just taken is not reported', async () => {
  const watched = await Watched.of(folder.write('a.yaml', 'one'))
  folder.write('a.yaml', 'other')
  await watched.watch.takeBaseline()
  await looks()
  assert.is(watched.count, 0)
  folder.write('a.yaml', 'one more')
  await watched.changes(1)
})

watching('reports nothing after it is closed', async () => {
  const path = folder.write('a.yaml', 'one')
  const watched = await Watched.of(path)
  watched.watch.close()
  folder.write('a.yaml', 'other')
  await watched.watch.watch([path], 0)
  await looks()
  assert.is(watched.count, 0)
})

watching.run()
