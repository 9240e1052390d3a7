import type {
  Audience,
  AudienceStore,
  BeginSyncRequest,
  BeginSyncResult,
  Member,
  MembersRequest,
  ReleaseRequest,
  ReleaseResult,
  TakeRequest,
  TakeResult,
} from '../../audience/index.ts'

/** Keeps audiences in memory. */
export class MemoryAudiences implements AudienceStore {
  begin(request: BeginSyncRequest): Promise<BeginSyncResult> {
    return notBuilt(request)
  }

  take(request: TakeRequest): Promise<TakeResult> {
    return notBuilt(request)
  }

  release(request: ReleaseRequest): Promise<ReleaseResult> {
    return notBuilt(request)
  }

  remove(request: { readonly key: string }): Promise<boolean> {
    return notBuilt(request)
  }

  list(): Promise<readonly Audience[]> {
    return notBuilt()
  }

  members(request: MembersRequest): Promise<readonly Member[]> {
    return notBuilt(request)
  }
}

function notBuilt(...what: readonly unknown[]): Promise<never> {
  return Promise.reject(new Error(`not built ${what.length}`))
}
