// The worker thread that checks slow hashes one by one: on the main thread each check would block all streams.

import { parentPort } from 'node:worker_threads'
import { compareSync } from 'bcryptjs'
import { equalsInConstantTime, hashApr1 } from './apr1.ts'
import type { PasswordHashJob } from './basic-auth.ts'

parentPort?.on('message', ({ password, hash }: PasswordHashJob) => {
  const isRight = hash.startsWith('$apr1$')
    ? equalsInConstantTime(hashApr1(password, hash), hash)
    : compareSync(password, hash)
  parentPort?.postMessage(isRight)
})
