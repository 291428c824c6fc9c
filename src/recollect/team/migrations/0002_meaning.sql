-- Learnings, vectors of passages, and how long a team keeps sessions. Servers that know only 0001 go on: what is new has
-- defaults, and functions keep their signatures.

ALTER TABLE recollect.team ADD COLUMN retention_days integer CHECK (retention_days > 0);

-- What a machine learned of the repositories that it shares; body: the learning as JSON, with short quotes.
CREATE TABLE recollect.learning (
    team_id uuid NOT NULL,
    machine_id uuid NOT NULL,
    learning_id text NOT NULL,
    member_id uuid NOT NULL,
    stamp bigint NOT NULL,
    repo text NOT NULL,
    kind text NOT NULL,
    body jsonb NOT NULL,
    PRIMARY KEY (team_id, machine_id, learning_id),
    FOREIGN KEY (team_id, machine_id) REFERENCES recollect.machine (team_id, machine_id)
);
CREATE INDEX learning_of_repo ON recollect.learning (team_id, repo);

-- The models that vectors of the team were made by: vectors of two models say nothing to each other.
CREATE TABLE recollect.model (
    team_id uuid NOT NULL,
    model text NOT NULL,
    PRIMARY KEY (team_id, model)
);

-- What the pieces of an event's text mean: whole numbers of -127 to 127, because a cosine has no scale.
CREATE TABLE recollect.passage (
    team_id uuid NOT NULL,
    month date NOT NULL,
    session_id bigint NOT NULL,
    event_id text NOT NULL,
    part integer NOT NULL,
    piece integer NOT NULL,
    machine_id uuid NOT NULL,
    member_id uuid NOT NULL,
    model text NOT NULL,
    embedding halfvec(256) NOT NULL,
    PRIMARY KEY (team_id, month, session_id, event_id, part, piece),
    FOREIGN KEY (team_id, month, session_id, event_id, part)
        REFERENCES recollect.event (team_id, month, session_id, event_id, part) ON DELETE CASCADE
) PARTITION BY RANGE (month);
CREATE INDEX passage_near ON recollect.passage USING hnsw (embedding halfvec_cosine_ops);

ALTER TABLE recollect.learning ENABLE ROW LEVEL SECURITY;
ALTER TABLE recollect.model ENABLE ROW LEVEL SECURITY;
ALTER TABLE recollect.passage ENABLE ROW LEVEL SECURITY;

CREATE POLICY own ON recollect.learning USING (
    team_id = recollect.present_team() AND machine_id = recollect.present_machine()
    AND member_id = recollect.present_member())
    WITH CHECK (
    team_id = recollect.present_team() AND machine_id = recollect.present_machine()
    AND member_id = recollect.present_member() AND EXISTS (
        SELECT FROM recollect.share h WHERE h.team_id = learning.team_id AND h.machine_id = learning.machine_id
        AND lower(h.repo) = lower(learning.repo) AND h.level IN ('distilled', 'full')));
CREATE POLICY of_person ON recollect.learning FOR SELECT USING (
    team_id = recollect.present_team() AND member_id = recollect.present_member());
CREATE POLICY shared ON recollect.learning FOR SELECT USING (
    team_id = recollect.present_team() AND recollect.present_role() IN ('member', 'lead', 'owner'));

CREATE POLICY of_team ON recollect.model USING (
    team_id = recollect.present_team() AND recollect.present_role() <> '');

CREATE POLICY own ON recollect.passage USING (
    team_id = recollect.present_team() AND machine_id = recollect.present_machine()
    AND member_id = recollect.present_member())
    WITH CHECK (
    team_id = recollect.present_team() AND machine_id = recollect.present_machine()
    AND member_id = recollect.present_member() AND EXISTS (
        SELECT FROM recollect.session s WHERE s.team_id = passage.team_id AND s.session_id = passage.session_id
        AND s.machine_id = passage.machine_id AND s.level = 'full'));
CREATE POLICY of_person ON recollect.passage FOR SELECT USING (
    team_id = recollect.present_team() AND member_id = recollect.present_member());
CREATE POLICY shared ON recollect.passage FOR SELECT USING (
    team_id = recollect.present_team() AND recollect.present_role() IN ('member', 'lead', 'owner'));

GRANT SELECT, INSERT, UPDATE, DELETE ON recollect.learning, recollect.passage TO recollect_server;
GRANT SELECT, INSERT ON recollect.model TO recollect_server;

-- Make the partitions of a month, where they are missing; by default of the present one.
CREATE FUNCTION recollect.make_partitions(month date) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS
$$
DECLARE
    whole text;
    part text;
BEGIN
    FOREACH whole IN ARRAY ARRAY['event', 'passage'] LOOP
        part := whole || '_' || to_char(month, 'YYYY_MM');
        IF to_regclass('recollect.' || part) IS NULL THEN
            PERFORM pg_advisory_xact_lock(hashtext('recollect.make_month'));
            EXECUTE format('CREATE TABLE IF NOT EXISTS recollect.%I PARTITION OF recollect.%I FOR VALUES FROM (%L) TO (%L)',
                part, whole, month, month + interval '1 month');
        END IF;
    END LOOP;
END
$$;

CREATE OR REPLACE FUNCTION recollect.make_month() RETURNS void
    LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS
$$ SELECT recollect.make_partitions(date_trunc('month', now() AT TIME ZONE 'UTC')::date) $$;

SELECT recollect.make_partitions(to_date(right(c.relname, 7), 'YYYY_MM'))
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'recollect.event'::regclass;

-- Between which moments, UTC microseconds, a session of a team must have been at work last to be kept; NULL: always.
-- What claims to be of the future has a wrong clock.
CREATE FUNCTION recollect.kept_between(days integer) RETURNS bigint[]
    LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS
$$
    SELECT CASE WHEN days IS NOT NULL THEN ARRAY[
        (extract(epoch FROM now() - make_interval(days => days)) * 1e6)::bigint,
        (extract(epoch FROM now() + interval '1 day') * 1e6)::bigint] END
$$;

-- Remove sessions that a team keeps no longer, at most so many; return how many. What was asked and read stays.
CREATE FUNCTION recollect.sweep(most integer) RETURNS bigint
    LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS
$$
    WITH old AS (
        SELECT s.team_id, s.session_id FROM recollect.team t
            JOIN recollect.session s ON s.team_id = t.team_id
            CROSS JOIN recollect.kept_between(t.retention_days) kept (between_)
            WHERE t.retention_days IS NOT NULL
            AND NOT coalesce(s.ended_at, s.started_at, 0) BETWEEN between_[1] AND between_[2]
            LIMIT most FOR UPDATE OF s SKIP LOCKED
    ), gone AS (
        DELETE FROM recollect.session s USING old
            WHERE s.team_id = old.team_id AND s.session_id = old.session_id RETURNING 1
    ) SELECT count(*) FROM gone
$$;

-- What a question is confined to, as conditions on an event e and its session s; $1: the team, $2: what is asked.
-- Values become literals of the statement, never SQL.
CREATE FUNCTION recollect.conditions_of(asked jsonb) RETURNS text
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS
$$
DECLARE
    clauses jsonb;
    clause jsonb;
    choices text;
    wanted text := '';
BEGIN
    IF recollect.present_role() NOT IN ('member', 'lead', 'owner') THEN
        wanted := format(' AND e.member_id = %L', recollect.present_member());
    END IF;
    FOR clauses IN SELECT jsonb_array_elements(asked -> 'must') LOOP
        choices := '';
        FOR clause IN SELECT jsonb_array_elements(clauses) LOOP
            choices := choices || CASE WHEN choices = '' THEN '' ELSE ' OR ' END
                || CASE WHEN clause ? 'like' THEN format('e.said ILIKE %L', clause ->> 'like')
                        ELSE format('e.said ~* %L', clause ->> 'regex') END;
        END LOOP;
        wanted := wanted || ' AND (' || choices || ')';
    END LOOP;
    FOR clause IN SELECT jsonb_array_elements(asked -> 'must_not') LOOP
        wanted := wanted || CASE WHEN clause ? 'like' THEN format(' AND e.said NOT ILIKE %L', clause ->> 'like')
                                 ELSE format(' AND e.said !~* %L', clause ->> 'regex') END;
    END LOOP;
    IF asked ->> 'after' IS NOT NULL THEN
        wanted := wanted || ' AND e.ts >= ($2 ->> ''after'')::bigint';
    END IF;
    IF asked ->> 'before' IS NOT NULL THEN
        wanted := wanted || ' AND e.ts < ($2 ->> ''before'')::bigint';
    END IF;
    IF asked -> 'agents' <> '[]' THEN
        wanted := wanted || ' AND $2 -> ''agents'' ? s.agent';
    END IF;
    -- What tells an agent how to work is found only where it is asked for.
    wanted := wanted || CASE WHEN asked -> 'kinds' = '[]' THEN ' AND e.kind <> ''instructions'''
        ELSE ' AND $2 -> ''kinds'' ? e.kind' END;
    IF asked -> 'not_kinds' <> '[]' THEN
        wanted := wanted || ' AND NOT $2 -> ''not_kinds'' ? e.kind';
    END IF;
    IF asked -> 'tools' <> '[]' THEN
        wanted := wanted || ' AND $2 -> ''tools'' ? lower(e.tool)';
    END IF;
    IF asked -> 'not_tools' <> '[]' THEN
        wanted := wanted || ' AND NOT $2 -> ''not_tools'' ? lower(e.tool)';
    END IF;
    IF asked -> 'sessions' <> '[]' THEN
        wanted := wanted || ' AND s.session_uid ILIKE ANY (ARRAY(SELECT jsonb_array_elements_text($2 -> ''sessions'')))';
    END IF;
    IF asked -> 'repos' <> '[]' THEN
        wanted := wanted || ' AND s.repo ILIKE ANY (ARRAY(SELECT jsonb_array_elements_text($2 -> ''repos'')))';
    END IF;
    IF asked -> 'branches' <> '[]' THEN
        wanted := wanted || ' AND s.branch ILIKE ANY (ARRAY(SELECT jsonb_array_elements_text($2 -> ''branches'')))';
    END IF;
    IF asked -> 'paths' <> '[]' THEN
        wanted := wanted || ' AND e.paths ILIKE ANY (ARRAY(SELECT jsonb_array_elements_text($2 -> ''paths'')))';
    END IF;
    RETURN wanted;
END
$$;

-- How much a kind of event counts, as in the order of a local search.
CREATE FUNCTION recollect.voice(kind text) RETURNS double precision LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
$$
    SELECT CASE kind WHEN 'assistant_message' THEN 1 WHEN 'thinking' THEN 0.85 WHEN 'user_message' THEN 0.6
        WHEN 'tool_call' THEN 0.9 WHEN 'tool_result' THEN 0.7 WHEN 'file_edit' THEN 0.5 WHEN 'instructions' THEN 1
        ELSE 0.3 END
$$;

-- The keys of events that match, best first, with how many match in all and in their session. A function, because
-- row-level security keeps an index from serving operators that may show what they compare (@@, ILIKE); whoever reads
-- events by these keys is held to the policies.
-- asked: words (for the rank, and needed: all or any of them), must (groups of {like} or {regex}, one of each group),
-- must_not, and filters. A word counts the more the fewer events have it. Where any word will do, one that very many
-- have finds nothing by itself; and only those that have the rarest words are looked at closely: reading the words of
-- an event costs more than finding it. Nothing reads all events, also not to count a word that most have.
CREATE OR REPLACE FUNCTION recollect.find_events(asked jsonb, most integer)
    RETURNS TABLE (month date, session_id bigint, event_id text, part integer, score real, has_all boolean,
        total bigint, in_session bigint)
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
    SET enable_seqscan = off AS
$$
DECLARE
    many CONSTANT integer := 2000;
    closely CONSTANT integer := 400;
    all_of tsquery;
    any_of tsquery;
    term tsquery;
    word text;
    having_it integer;
    weight double precision;
    weights double precision := 0;
    rank text := '';
    every text := '';
    rare text := '';
    one text;
    conditions text := recollect.conditions_of(asked);
BEGIN
    FOR word IN SELECT DISTINCT jsonb_array_elements_text(asked -> 'words') LOOP
        term := plainto_tsquery('pg_catalog.english', word);
        CONTINUE WHEN numnode(term) = 0;
        all_of := coalesce(all_of && term, term);
        any_of := coalesce(any_of || term, term);
        EXECUTE format('SELECT count(*) FROM (SELECT FROM recollect.event e WHERE e.team_id = $1 AND e.words @@ %L::tsquery LIMIT %s) n',
            term, many) INTO having_it USING recollect.present_team();
        weight := ln(1 + 2.0 * many / (1 + having_it));
        weights := weights + weight;
        rank := rank || format(' + CASE WHEN e.words @@ %L::tsquery THEN %s ELSE 0 END', term, weight);
        one := format(' UNION ALL SELECT e.month, e.session_id, e.event_id, e.part, %s AS weight '
            'FROM recollect.event e JOIN recollect.session s ON s.team_id = e.team_id AND s.session_id = e.session_id '
            'WHERE e.team_id = $1 AND e.words @@ %L::tsquery%s', weight, term, conditions);
        every := every || one;
        rare := rare || CASE WHEN having_it < many THEN one ELSE '' END;
    END LOOP;
    IF any_of IS NULL THEN
        rank := '1::real';
    ELSE
        rank := format('((0%s) / %s * (1 + ts_rank_cd(e.words, %L::tsquery, 33)) * recollect.voice(e.kind))::real',
            rank, weights, any_of);
    END IF;
    IF any_of IS NULL OR asked ->> 'need' = 'all' THEN
        RETURN QUERY EXECUTE format(
            'SELECT e.month, e.session_id, e.event_id, e.part, %s, true, count(*) OVER (), '
            '    count(*) OVER (PARTITION BY e.session_id) '
            'FROM recollect.event e JOIN recollect.session s ON s.team_id = e.team_id AND s.session_id = e.session_id '
            'WHERE e.team_id = $1 %s%s '
            'ORDER BY 5 DESC, e.ts DESC NULLS LAST, e.session_id, e.event_id, e.part LIMIT $3',
            rank, CASE WHEN any_of IS NULL THEN '' ELSE format('AND e.words @@ %L::tsquery', all_of) END, conditions)
            USING recollect.present_team(), asked, most;
    ELSE
        RETURN QUERY EXECUTE format(
            'SELECT e.month, e.session_id, e.event_id, e.part, %s, e.words @@ %L::tsquery, n.total, n.in_session '
            'FROM (SELECT k.month, k.session_id, k.event_id, k.part, sum(k.weight) AS found, count(*) OVER () AS total, '
            '    count(*) OVER (PARTITION BY k.session_id) AS in_session FROM (%s) k '
            '    GROUP BY k.month, k.session_id, k.event_id, k.part ORDER BY 5 DESC LIMIT greatest($3, %s)) n '
            'JOIN recollect.event e ON e.team_id = $1 AND e.month = n.month AND e.session_id = n.session_id '
            '    AND e.event_id = n.event_id AND e.part = n.part '
            'ORDER BY 6 DESC, 5 DESC, e.ts DESC NULLS LAST, e.session_id, e.event_id, e.part LIMIT $3',
            rank, all_of, substr(CASE WHEN rare = '' THEN every ELSE rare END, 12), closely)
            USING recollect.present_team(), asked, most;
    END IF;
END
$$;

-- The keys of events that are nearest in meaning to a vector of a model, nearest first, confined as find_events.
CREATE FUNCTION recollect.find_near(asked jsonb, of_model text, meant halfvec, most integer)
    RETURNS TABLE (month date, session_id bigint, event_id text, part integer, similarity real)
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
    SET enable_seqscan = off AS
$$
BEGIN
    -- Goes on in the index until enough of what it finds is of this team and is asked for.
    PERFORM set_config('hnsw.iterative_scan', 'relaxed_order', true);
    RETURN QUERY EXECUTE format(
        'SELECT n.month, n.session_id, n.event_id, n.part, (1 - min(n.far))::real FROM ('
        'SELECT p.month, p.session_id, p.event_id, p.part, e.kind, p.embedding <=> $3 AS far '
        'FROM recollect.passage p JOIN recollect.event e ON e.team_id = p.team_id AND e.month = p.month '
        '    AND e.session_id = p.session_id AND e.event_id = p.event_id AND e.part = p.part '
        'JOIN recollect.session s ON s.team_id = p.team_id AND s.session_id = p.session_id '
        'WHERE p.team_id = $1 AND p.model = $5 %s ORDER BY p.embedding <=> $3 LIMIT 2 * $4) n '
        'GROUP BY 1, 2, 3, 4 ORDER BY (1 - min(n.far)) * recollect.voice(min(n.kind)) DESC, 2, 3, 4 LIMIT $4',
        recollect.conditions_of(asked)) USING recollect.present_team(), asked, meant, most, of_model;
END
$$;

GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA recollect TO recollect_server;
REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA recollect FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION recollect.make_partitions(date) FROM recollect_server;
