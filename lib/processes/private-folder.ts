// The folder with the sockets that only the processes of one gateway use. It is a temporary folder, and a cleanup of
// temporary files may remove it while the gateway runs.

import { lstatSync, mkdirSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { errorMessageOf } from '../core/errors.ts'
import { startInterval } from '../core/scheduling.ts'
import type { StartInterval } from '../core/scheduling.ts'
import type { Log } from '../core/log.ts'
import { MAX_SOCKET_PATH_BYTES } from '../core/listening-sockets.ts'
import type { ListeningSockets } from '../core/listening-sockets.ts'

/** `mkdtemp` appends six letters. */
const PREFIX = 'gateway-'

/** Longer than the path of any socket in the folder. */
const LONGEST = `/${PREFIX}abcdef/w99e999999999.relay`

/** Between two checks that the folder and its sockets exist. */
const CHECK_MS = 5_000

/** Creates it in the first parent folder where socket paths are short enough. Throws when none can be used. */
export function createPrivateFolder(parents = [tmpdir(), '/tmp']): string {
  const maxLength = MAX_SOCKET_PATH_BYTES - LONGEST.length
  const reasons: string[] = []
  for (const parent of new Set(parents))
    try {
      if (Buffer.byteLength(parent) > maxLength)
        throw new Error(`${parent} is longer than ${maxLength} bytes, too long for socket paths`)
      return mkdtempSync(join(parent, PREFIX))
    } catch (error) {
      reasons.push(errorMessageOf(error))
    }
  throw new Error(`cannot create a folder for private sockets (set TMPDIR): ${reasons.join('; ')}`)
}

/** Creates the folder if it is missing. Throws unless it belongs to this user alone: another user may have created it. */
export function ensurePrivateFolder(folder: string): void {
  try {
    mkdirSync(folder, { mode: 0o700 })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
  // Systems without user ids cannot check the owner.
  if (process.getuid === undefined) return
  const found = lstatSync(folder)
  const isOurs = found.isDirectory() && found.uid === process.getuid()
  if (!isOurs || (found.mode & 0o077) !== 0) throw new Error(`${folder} is not private`)
}

/** Creates the folder and its sockets again after they were removed; `sockets` are those of this process. */
export function watchPrivateFolder(
  folder: string,
  sockets: ListeningSockets,
  log: Log,
  timer: StartInterval = startInterval,
): () => void {
  let lastError = ''
  const check = (): void => {
    try {
      ensurePrivateFolder(folder)
      const reopened = sockets.reopenRemoved()
      lastError = ''
      if (reopened.length === 0) return
      const fields = ['folder', folder, 'sockets', reopened.length]
      log.write('warn', 'gateway', 'private sockets were removed and created again', fields)
    } catch (error) {
      if (lastError === errorMessageOf(error)) return
      lastError = errorMessageOf(error)
      log.write('error', 'gateway', 'cannot create private sockets again', ['error', lastError])
    }
  }
  return timer(CHECK_MS, check)
}
