// Polls files for changes: file system events miss some renames, symlink swaps and changes on network file
// systems, but polling sees all of them.

import type { Stats } from 'node:fs'
import { readdir, realpath, stat } from 'node:fs/promises'

/** The default poll interval. */
export const FILE_POLL_MS = 500

/** Files that are read from a folder given by `-f` (config-files.ts); changes of other files are ignored. */
const READ_OF_FOLDER = /^[^.].*\.(?:ya?ml|json)$/

interface FileState {
  /** Two equal fingerprints mean that the file has not changed. */
  readonly fingerprint: string
  /** Time of the last change, by the clock of the file system. */
  readonly changedAt: number
}

export class FileWatcher {
  readonly #onChange: () => void
  readonly #interval: number
  /** Fingerprint of each path when it was last read. */
  #baseline: ReadonlyMap<string, string> = new Map()
  /** Fingerprints of the previous poll: a file that is still being written differs in two polls. */
  #previous = ''
  #timer: NodeJS.Timeout | null = null
  #state: 'new' | 'watching' | 'closed' = 'new'

  /** `interval` is in milliseconds; a change is reported after the files were stable for one interval. */
  constructor(onChange: () => void, interval = FILE_POLL_MS) {
    this.#onChange = onChange
    this.#interval = interval
  }

  /**
   * Replaces the list of watched files. Known files keep their baseline; a new file counts as changed if it changed
   * after `since` (milliseconds since 1970), the time before it was read.
   */
  async watch(paths: readonly string[], since: number): Promise<void> {
    const baseline = new Map<string, string>()
    for (const path of paths) {
      const known = this.#baseline.get(path)
      baseline.set(path, known ?? fingerprintBefore(since, await readFileState(path)))
    }
    this.#baseline = baseline
    if (this.#state !== 'new') return
    this.#state = 'watching'
    this.#schedule()
  }

  /** Sets the baseline to the current state; call it right before the files are read. */
  async takeBaseline(): Promise<void> {
    this.#baseline = await readFingerprints(this.#baseline.keys())
  }

  close(): void {
    this.#state = 'closed'
    if (this.#timer !== null) clearTimeout(this.#timer)
  }

  #schedule(): void {
    this.#timer = setTimeout(() => void this.#poll(), this.#interval).unref()
  }

  async #poll(): Promise<void> {
    const baseline = this.#baseline
    const now = await readFingerprints(baseline.keys())
    if (this.#state === 'closed') return
    this.#schedule()
    // The baseline was replaced during the poll, so this result has nothing to compare with.
    if (this.#baseline !== baseline) return
    const current = joinFingerprints(now)
    const isStable = current === this.#previous
    this.#previous = current
    if (!isStable || current === joinFingerprints(baseline)) return
    this.#baseline = now
    this.#onChange()
  }
}

/** The empty text equals no fingerprint, so a file that changed after `since` counts as changed. */
function fingerprintBefore(since: number, { fingerprint, changedAt }: FileState): string {
  return changedAt > since ? '' : fingerprint
}

function joinFingerprints(fingerprints: ReadonlyMap<string, string>): string {
  return [...fingerprints.values()].join('\n')
}

async function readFingerprints(paths: Iterable<string>): Promise<Map<string, string>> {
  const fingerprints = new Map<string, string>()
  for (const path of paths) fingerprints.set(path, (await readFileState(path)).fingerprint)
  return fingerprints
}

/** The state of the resolved path; the state of a folder is that of its configuration files. */
async function readFileState(path: string): Promise<FileState> {
  try {
    const target = await realpath(path)
    const stats = await stat(target)
    return stats.isDirectory() ? await readFolderState(target) : fileStateOf(target, stats)
  } catch {
    return { fingerprint: `${path} absent`, changedAt: 0 }
  }
}

/** `ctime` also shows a replaced file whose `mtime` was preserved, and changed permissions. */
function fileStateOf(target: string, { mtimeMs, ctimeMs, size, ino }: Stats): FileState {
  return {
    fingerprint: `${target} ${mtimeMs} ${ctimeMs} ${size} ${ino}`,
    changedAt: ctimeMs,
  }
}

async function readFolderState(folder: string): Promise<FileState> {
  const names = (await readdir(folder)).filter((name) => READ_OF_FOLDER.test(name)).toSorted()
  const states = await Promise.all(names.map((name) => readEntryState(`${folder}/${name}`)))
  return {
    fingerprint: [folder, ...states.map(({ fingerprint }) => fingerprint)].join('\n'),
    changedAt: Math.max(0, ...states.map(({ changedAt }) => changedAt)),
  }
}

/** Nested folders are not listed: a symlink may point to a parent. */
async function readEntryState(path: string): Promise<FileState> {
  try {
    const target = await realpath(path)
    return fileStateOf(target, await stat(target))
  } catch {
    return { fingerprint: `${path} absent`, changedAt: 0 }
  }
}
