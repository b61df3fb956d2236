// The thread that checks slow hashes, one after the other: on the main one each would stop every stream for its time.

import { parentPort } from 'node:worker_threads'
import { compareSync } from 'bcryptjs'
import { apr1 } from './apr1.ts'
import { isSame } from './is-same.ts'
import type { Question } from './slow-checks.ts'

parentPort?.on('message', ({ number, password, hash }: Question) => {
  const isRight = hash.startsWith('$apr1$')
    ? isSame(apr1(password, hash), hash)
    : compareSync(password, hash)
  parentPort?.postMessage({ number, isRight })
})
