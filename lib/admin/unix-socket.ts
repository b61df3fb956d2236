// Makes room for a unix socket: one that nobody listens on is left over and goes; anything else stays.

import { lstatSync, unlinkSync } from 'node:fs'
import { connect } from 'node:net'

export async function clearSocket(path: string): Promise<void> {
  const facts = lstatSync(path, { throwIfNoEntry: false })
  if (facts === undefined) return
  if (!facts.isSocket()) throw new Error(`${path} exists and is no socket`)
  if (await answers(path)) throw new Error(`${path} is in use by another process`)
  unlinkSync(path)
}

function answers(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path)
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}
