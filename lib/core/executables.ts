// Finds the executable file of a command on a search path.

import { accessSync, constants, statSync } from 'node:fs'
import { delimiter, resolve } from 'node:path'

/** Returns the file; undefined if there is none. A command with a slash is a path and not looked for. */
export function findExecutable(cmd: string, searchPath: string): string | undefined {
  if (cmd.includes('/')) return isExecutable(cmd) ? cmd : undefined
  return searchPath
    .split(delimiter)
    .map((folder) => resolve(folder, cmd))
    .find(isExecutable)
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return statSync(path).isFile()
  } catch {
    return false
  }
}
