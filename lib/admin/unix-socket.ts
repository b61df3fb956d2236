// Makes room for a unix socket: one that nobody listens on is left over and goes; anything else stays.

import { existsSync, lstatSync, unlinkSync } from 'node:fs'
import { connect } from 'node:net'
import { dirname } from 'node:path'

export async function clearSocket(path: string): Promise<void> {
  // To listen there would fail for want of permission, whatever the reason.
  if (!existsSync(dirname(path))) throw new Error('there is no such folder')
  const facts = lstatSync(path, { throwIfNoEntry: false })
  if (facts === undefined) return
  if (!facts.isSocket()) throw new Error('the file exists and is no socket')
  if (await isInUse(path)) throw new Error('it is in use by another process')
  unlinkSync(path)
}

/** Only a refusal tells that nobody listens: one that is busy or not for us fails in other ways. */
function isInUse(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path)
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', ({ code }: NodeJS.ErrnoException) => resolve(code !== 'ECONNREFUSED'))
  })
}
