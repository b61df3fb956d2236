// Notices that files have changed, by looking at them: renames, symlink swaps and network file systems all show
// in a look, and not all of them in an event.

import type { Stats } from 'node:fs'
import { readdir, realpath, stat } from 'node:fs/promises'

/** Unless told otherwise. */
export const FILE_POLL_MS = 500

/** Those that a folder given by `-f` is read for (inputs.ts); others may come and go. */
const READ_OF_FOLDER = /^[^.].*\.(?:ya?ml|json)$/

interface FileState {
  /** Equal texts: nothing has changed. */
  readonly text: string
  /** Of the latest change, by the clock of the file system. */
  readonly at: number
}

export class FileWatcher {
  readonly #changed: () => void
  readonly #interval: number
  /** By path: how each looked when it was last read. */
  #taken: ReadonlyMap<string, string> = new Map()
  /** All of them as they looked a look ago: a file that is still being written differs twice. */
  #seen = ''
  #timer: NodeJS.Timeout | null = null
  #state: 'new' | 'watching' | 'closed' = 'new'

  /** `interval` is in milliseconds; a change is told of after it has stood for one. */
  constructor(changed: () => void, interval = FILE_POLL_MS) {
    this.#changed = changed
    this.#interval = interval
  }

  /**
   * These files and no others. Those it watched already stay as they were taken; a new one counts as changed if that
   * happened after `since` (milliseconds since 1970), the moment before it was read.
   */
  async watch(paths: readonly string[], since: number): Promise<void> {
    const taken = new Map<string, string>()
    for (const path of paths) {
      const known = this.#taken.get(path)
      taken.set(path, known ?? stateTextSince(since, await readFileState(path)))
    }
    this.#taken = taken
    if (this.#state !== 'new') return
    this.#state = 'watching'
    this.#schedule()
  }

  /** Takes the files as they are now, for they are about to be read. */
  async takeBaseline(): Promise<void> {
    this.#taken = await readFileStates(this.#taken.keys())
  }

  close(): void {
    this.#state = 'closed'
    if (this.#timer !== null) clearTimeout(this.#timer)
  }

  #schedule(): void {
    this.#timer = setTimeout(() => void this.#look(), this.#interval).unref()
  }

  async #look(): Promise<void> {
    const before = this.#taken
    const now = await readFileStates(before.keys())
    if (this.#state === 'closed') return
    this.#schedule()
    // Taken anew meanwhile: there is nothing to compare this with.
    if (this.#taken !== before) return
    const looks = joinStateTexts(now)
    const isSettled = looks === this.#seen
    this.#seen = looks
    if (!isSettled || looks === joinStateTexts(before)) return
    this.#taken = now
    this.#changed()
  }
}

/** No look is empty, so this one counts as changed. */
function stateTextSince(since: number, { text, at }: FileState): string {
  return at > since ? '' : text
}

function joinStateTexts(looks: ReadonlyMap<string, string>): string {
  return [...looks.values()].join('\n')
}

async function readFileStates(paths: Iterable<string>): Promise<Map<string, string>> {
  const looks = new Map<string, string>()
  for (const path of paths) looks.set(path, (await readFileState(path)).text)
  return looks
}

/** Where a path leads and what stands there; a folder looks like the files it is read for. */
async function readFileState(path: string): Promise<FileState> {
  try {
    const target = await realpath(path)
    const facts = await stat(target)
    return facts.isDirectory() ? await readFolderState(target) : fileStateOf(target, facts)
  } catch {
    return { text: `${path} absent`, at: 0 }
  }
}

/** The time of its entry tells of a replaced file whose own time was kept, and of one that became readable. */
function fileStateOf(target: string, { mtimeMs, ctimeMs, size, ino }: Stats): FileState {
  return { text: `${target} ${mtimeMs} ${ctimeMs} ${size} ${ino}`, at: ctimeMs }
}

async function readFolderState(folder: string): Promise<FileState> {
  const names = (await readdir(folder)).filter((name) => READ_OF_FOLDER.test(name)).toSorted()
  const looks = await Promise.all(names.map((name) => readEntryState(`${folder}/${name}`)))
  return {
    text: [folder, ...looks.map(({ text }) => text)].join('\n'),
    at: Math.max(0, ...looks.map(({ at }) => at)),
  }
}

/** Folders in a folder are not looked into: a link may lead back up. */
async function readEntryState(path: string): Promise<FileState> {
  try {
    const target = await realpath(path)
    return fileStateOf(target, await stat(target))
  } catch {
    return { text: `${path} absent`, at: 0 }
  }
}
