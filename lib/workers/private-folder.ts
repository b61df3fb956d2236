// The folder with the sockets that only the processes of one gateway use. It lies among temporary files, and whoever cleans
// up there may remove it while the gateway runs.

import { lstatSync, mkdirSync } from 'node:fs'

/** Makes it anew if it is gone. Throws where it is not there for this user alone: another one may have been faster. */
export function ensurePrivate(folder: string): void {
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
