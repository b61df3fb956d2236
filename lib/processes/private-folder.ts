// The folder with the sockets that only the processes of one gateway use. It lies among temporary files, and whoever cleans
// up there may remove it while the gateway runs.

import { lstatSync, mkdirSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { errorMessageOf } from '../core/errors.ts'
import { startInterval } from '../core/scheduling.ts'
import type { StartInterval } from '../core/scheduling.ts'
import type { Log } from '../core/log.ts'
import { MAX_SOCKET_PATH_BYTES } from '../core/listening-sockets.ts'
import type { ListeningSockets } from '../core/listening-sockets.ts'

/** What `mkdtemp` puts behind it is six letters long. */
const PREFIX = 'gateway-'

/** Longer than any socket in it is called. */
const LONGEST = `/${PREFIX}abcdef/w99e999999999.relay`

/** Between two looks whether all is there still. */
const LOOK_MS = 5_000

/** Among temporary files, where a path to a socket in it is not too long for the system. Throws where there is no such place. */
export function createPrivateFolder(places = [tmpdir(), '/tmp']): string {
  const most = MAX_SOCKET_PATH_BYTES - LONGEST.length
  const reasons: string[] = []
  for (const place of new Set(places))
    try {
      if (Buffer.byteLength(place) > most)
        throw new Error(`${place} is longer than ${most} bytes, too long for sockets in it`)
      return mkdtempSync(join(place, PREFIX))
    } catch (error) {
      reasons.push(errorMessageOf(error))
    }
  throw new Error(`no folder for private sockets (TMPDIR names one): ${reasons.join('; ')}`)
}

/** Makes it anew if it is gone. Throws where it is not there for this user alone: another one may have been faster. */
export function ensurePrivateFolder(folder: string): void {
  try {
    mkdirSync(folder, { mode: 0o700 })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
  // Where there are no users to tell apart, nobody is locked out.
  if (process.getuid === undefined) return
  const found = lstatSync(folder)
  const isOurs = found.isDirectory() && found.uid === process.getuid()
  if (!isOurs || (found.mode & 0o077) !== 0) throw new Error(`${folder} is not private`)
}

/** Whatever somebody removed of it is made anew after a while; `sockets` are those of this process. */
export function watchPrivateFolder(
  folder: string,
  sockets: ListeningSockets,
  log: Log,
  timer: StartInterval = startInterval,
): () => void {
  let trouble = ''
  const look = (): void => {
    try {
      ensurePrivateFolder(folder)
      const lost = sockets.reopenRemoved()
      trouble = ''
      if (lost.length === 0) return
      const fields = ['folder', folder, 'sockets', lost.length]
      log.write('warn', 'gateway', 'private sockets were removed: made anew', fields)
    } catch (error) {
      if (trouble === errorMessageOf(error)) return
      trouble = errorMessageOf(error)
      log.write('error', 'gateway', 'private sockets cannot be made anew', ['error', trouble])
    }
  }
  return timer(LOOK_MS, look)
}
