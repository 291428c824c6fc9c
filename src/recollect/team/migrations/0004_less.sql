-- Less of the database for the same answers, and a schema that Citus distributes as it is. Servers that know only 0003 go
-- on: what is new has defaults, and functions keep their signatures.

-- What lies between signs is a word: src/shop_cart.py is found by each of its four.
CREATE FUNCTION recollect.without_signs(said text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
$$ SELECT regexp_replace(said, '[!-/:-@[-`{-~]+', ' ', 'g') $$;

-- The words of a text, stemmed, once each and without their places, with the parts of identifiers: checkoutWorker is
-- found by "checkoutworker", "checkout" and "worker". Rows from before have more, and the same questions find them.
CREATE OR REPLACE FUNCTION recollect.words_of(said text) RETURNS tsvector LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
$$
    SELECT strip(to_tsvector('pg_catalog.english', recollect.without_signs(said) || ' ' || coalesce((
        SELECT string_agg(regexp_replace(n.found[1], '([[:lower:][:digit:]])([[:upper:]])', '\1 \2', 'g'), ' ')
        FROM regexp_matches(said, '[[:alnum:]]*[[:lower:][:digit:]][[:upper:]][[:alnum:]]*', 'g') n (found)), '')))
$$;

-- How much an event counts among those that have the same words: its kind, and a short text more than a long one. Neither
-- reads the text.
CREATE FUNCTION recollect.weight_of_text() RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
$$ SELECT '(1 + 2 / (1 + ln(1 + octet_length(e.said) / 16.0))) * recollect.voice(e.kind)' $$;

-- The month from which on enough events meet conditions; the first of all where there are never enough.
CREATE FUNCTION recollect.newest_months(conditions text, asked jsonb) RETURNS date
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, public, pg_temp AS
$$
DECLARE
    enough CONSTANT integer := 20000;
    since date := '-infinity';
    found integer := 0;
    here integer;
BEGIN
    FOR since IN SELECT to_date(right(c.relname, 7), 'YYYY_MM') FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
            WHERE i.inhparent = 'recollect.event'::regclass ORDER BY 1 DESC LOOP
        EXECUTE format(
            'SELECT count(*) FROM (SELECT FROM recollect.event e '
            'JOIN recollect.session s ON s.team_id = e.team_id AND s.session_id = e.session_id '
            'WHERE e.team_id = $1 AND e.month = %L%s LIMIT %s) n', since, conditions, enough - found)
            INTO here USING recollect.present_team(), asked;
        found := found + here;
        EXIT WHEN found >= enough;
    END LOOP;
    RETURN since;
END
$$;

-- The keys of events that match, best first, with how many match in all and in their session. A function, because
-- row-level security keeps an index from serving operators that may show what they compare (@@, ILIKE); whoever reads
-- events by these keys is held to the policies.
-- asked: words (for the rank, and needed: all or any of them), must (groups of {like} or {regex}, one of each group),
-- must_not, and filters. A word counts the more the fewer events have it. Where any word will do, one that very many have
-- finds nothing by itself; and only those that have the rarest words are looked at closely. Where very many have every
-- word, the newest months count that have enough of them. Nothing reads all events, also not to count a word that most
-- have.
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
        term := plainto_tsquery('pg_catalog.english', recollect.without_signs(word));
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
    IF any_of IS NULL OR asked ->> 'need' = 'all' THEN
        IF any_of IS NULL THEN
            rank := '1::real';
        ELSE
            rank := recollect.weight_of_text();
            conditions := format(' AND e.words @@ %L::tsquery', all_of) || conditions;
            IF rare = '' THEN
                conditions := conditions || format(' AND e.month >= %L', recollect.newest_months(conditions, asked));
            END IF;
        END IF;
        RETURN QUERY EXECUTE format(
            'SELECT e.month, e.session_id, e.event_id, e.part, (%s)::real, true, count(*) OVER (), '
            '    count(*) OVER (PARTITION BY e.session_id) '
            'FROM recollect.event e JOIN recollect.session s ON s.team_id = e.team_id AND s.session_id = e.session_id '
            'WHERE e.team_id = $1%s '
            'ORDER BY 5 DESC, e.ts DESC NULLS LAST, e.session_id, e.event_id, e.part LIMIT $3', rank, conditions)
            USING recollect.present_team(), asked, most;
    ELSE
        RETURN QUERY EXECUTE format(
            'SELECT e.month, e.session_id, e.event_id, e.part, ((0%s) / %s * %s)::real, e.words @@ %L::tsquery, n.total, '
            '    n.in_session '
            'FROM (SELECT k.month, k.session_id, k.event_id, k.part, sum(k.weight) AS found, count(*) OVER () AS total, '
            '    count(*) OVER (PARTITION BY k.session_id) AS in_session FROM (%s) k '
            '    GROUP BY k.month, k.session_id, k.event_id, k.part ORDER BY 5 DESC LIMIT greatest($3, %s)) n '
            'JOIN recollect.event e ON e.team_id = $1 AND e.month = n.month AND e.session_id = n.session_id '
            '    AND e.event_id = n.event_id AND e.part = n.part '
            'ORDER BY 6 DESC, 5 DESC, e.ts DESC NULLS LAST, e.session_id, e.event_id, e.part LIMIT $3',
            rank, weights, recollect.weight_of_text(), all_of, substr(CASE WHEN rare = '' THEN every ELSE rare END, 12), closely)
            USING recollect.present_team(), asked, most;
    END IF;
END
$$;

-- The keys of events that are nearest in meaning to a vector of a model, nearest first, confined as find_events. The index
-- has the signs of a vector only, a sixteenth of it: it gives candidates, and the vectors themselves put them in order.
CREATE INDEX passage_near_bits ON recollect.passage USING hnsw ((binary_quantize(embedding)::bit(256)) bit_hamming_ops)
    WITH (m = 8, ef_construction = 32);
CREATE OR REPLACE FUNCTION recollect.find_near(asked jsonb, of_model text, meant halfvec, most integer)
    RETURNS TABLE (month date, session_id bigint, event_id text, part integer, similarity real)
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
    SET enable_seqscan = off AS
$$
BEGIN
    -- Goes on in the index until enough of what it finds is of this team and is asked for.
    SET LOCAL hnsw.iterative_scan = relaxed_order;
    SET LOCAL hnsw.ef_search = 400;
    RETURN QUERY EXECUTE format(
        'SELECT n.month, n.session_id, n.event_id, n.part, (1 - min(n.embedding <=> $3))::real FROM ('
        'SELECT p.month, p.session_id, p.event_id, p.part, e.kind, p.embedding '
        'FROM recollect.passage p JOIN recollect.event e ON e.team_id = p.team_id AND e.month = p.month '
        '    AND e.session_id = p.session_id AND e.event_id = p.event_id AND e.part = p.part '
        'JOIN recollect.session s ON s.team_id = p.team_id AND s.session_id = p.session_id '
        'WHERE p.team_id = $1 AND p.model = $5 %s '
        'ORDER BY (binary_quantize(p.embedding)::bit(256)) <~> binary_quantize($3)::bit(256) LIMIT 4 * $4) n '
        'GROUP BY 1, 2, 3, 4 ORDER BY (1 - min(n.embedding <=> $3)) * recollect.voice(min(n.kind)) DESC, 2, 3, 4 LIMIT $4',
        recollect.conditions_of(asked)) USING recollect.present_team(), asked, meant, most, of_model;
END
$$;
DROP INDEX recollect.passage_near;

-- What a GIN index has not sorted in yet is read by every question, and keeps its place: an eighth of what is usual.
CREATE FUNCTION recollect.keep_small(part regclass) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS
$$
DECLARE
    name regclass;
BEGIN
    FOR name IN SELECT i.indexrelid::regclass FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
            JOIN pg_am a ON a.oid = c.relam WHERE i.indrelid = part AND a.amname = 'gin' LOOP
        EXECUTE format('ALTER INDEX %s SET (gin_pending_list_limit = 512)', name);
    END LOOP;
END
$$;
SELECT recollect.keep_small(i.inhrelid) FROM pg_inherits i WHERE i.inhparent = 'recollect.event'::regclass;

-- Make the partitions of a month, where they are missing; by default of the present one.
CREATE OR REPLACE FUNCTION recollect.make_partitions(month date) RETURNS void
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
            PERFORM recollect.keep_small(format('recollect.%I', part)::regclass);
        END IF;
    END LOOP;
END
$$;


-- Note for this transaction who shows a token. No row: nobody has it. is_expired by the clock of the database. Citus sends
-- SET LOCAL to its workers where it is told so, and never what set_config sets; elsewhere its setting means nothing.
CREATE OR REPLACE FUNCTION recollect.enter(of_team uuid, shown bytea)
    RETURNS TABLE (team text, person text, machine text, role text, expires_at timestamptz, is_expired boolean)
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS
$$
DECLARE
    holder record;
BEGIN
    SELECT m.team_id, m.machine_id, m.member_id, m.name, m.expires_at, p.role, p.people_group, p.name AS person, t.name AS team
        INTO holder
        FROM recollect.machine m
        JOIN recollect.member p ON p.team_id = m.team_id AND p.member_id = m.member_id
        JOIN recollect.team t ON t.team_id = m.team_id
        WHERE m.team_id = of_team AND m.token_hash = shown AND m.revoked_at IS NULL AND p.revoked_at IS NULL;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    IF holder.expires_at > now() THEN
        PERFORM set_config('citus.propagate_set_commands', 'local', true);
        EXECUTE format('SET LOCAL recollect.team_id = %L', holder.team_id);
        EXECUTE format('SET LOCAL recollect.member_id = %L', holder.member_id);
        EXECUTE format('SET LOCAL recollect.machine_id = %L', holder.machine_id);
        EXECUTE format('SET LOCAL recollect.role = %L', holder.role);
        EXECUTE format('SET LOCAL recollect.people_group = %L', holder.people_group);
    END IF;
    RETURN QUERY SELECT holder.team, holder.person, holder.name, holder.role, holder.expires_at, holder.expires_at <= now();
END
$$;

CREATE OR REPLACE FUNCTION recollect.present_group() RETURNS text LANGUAGE sql STABLE PARALLEL SAFE AS
$$ SELECT coalesce(current_setting('recollect.people_group', true), '') $$;

-- Citus allows no lookup in a policy. So keys say what these looked up: a row belongs to a session of the machine that
-- writes it, and the session's level allows it. They are checked at the end of a transaction: in it, a level is lowered
-- before the rows go that it no longer allows.
ALTER TABLE recollect.session ADD COLUMN has_text boolean GENERATED ALWAYS AS (level <> 'figures') STORED;
ALTER TABLE recollect.session ADD COLUMN has_events boolean GENERATED ALWAYS AS (level = 'full') STORED;
ALTER TABLE recollect.session ADD UNIQUE (team_id, session_id, machine_id);
ALTER TABLE recollect.session ADD UNIQUE (team_id, session_id, machine_id, has_text);
ALTER TABLE recollect.session ADD UNIQUE (team_id, session_id, machine_id, month, has_events);

ALTER TABLE recollect.usage ADD COLUMN machine_id uuid DEFAULT recollect.present_machine();
UPDATE recollect.usage c SET machine_id = s.machine_id FROM recollect.session s
    WHERE s.team_id = c.team_id AND s.session_id = c.session_id;
ALTER TABLE recollect.usage ALTER COLUMN machine_id SET NOT NULL, DROP CONSTRAINT usage_team_id_session_id_fkey,
    ADD FOREIGN KEY (team_id, session_id, machine_id)
        REFERENCES recollect.session (team_id, session_id, machine_id)
        ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED;
ALTER POLICY own ON recollect.usage WITH CHECK (
    team_id = recollect.present_team() AND member_id = recollect.present_member()
    AND machine_id = recollect.present_machine());

ALTER TABLE recollect.digest ADD COLUMN machine_id uuid DEFAULT recollect.present_machine();
UPDATE recollect.digest c SET machine_id = s.machine_id FROM recollect.session s
    WHERE s.team_id = c.team_id AND s.session_id = c.session_id;
ALTER TABLE recollect.digest ALTER COLUMN machine_id SET NOT NULL, DROP CONSTRAINT digest_team_id_session_id_fkey,
    ADD COLUMN has_text boolean NOT NULL DEFAULT true CHECK (has_text),
    ADD FOREIGN KEY (team_id, session_id, machine_id, has_text)
        REFERENCES recollect.session (team_id, session_id, machine_id, has_text)
        ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED;
ALTER POLICY own ON recollect.digest WITH CHECK (
    team_id = recollect.present_team() AND member_id = recollect.present_member()
    AND machine_id = recollect.present_machine());

ALTER TABLE recollect.decision ADD COLUMN machine_id uuid DEFAULT recollect.present_machine();
UPDATE recollect.decision c SET machine_id = s.machine_id FROM recollect.session s
    WHERE s.team_id = c.team_id AND s.session_id = c.session_id;
ALTER TABLE recollect.decision ALTER COLUMN machine_id SET NOT NULL, DROP CONSTRAINT decision_team_id_session_id_fkey,
    ADD COLUMN has_text boolean NOT NULL DEFAULT true CHECK (has_text),
    ADD FOREIGN KEY (team_id, session_id, machine_id, has_text)
        REFERENCES recollect.session (team_id, session_id, machine_id, has_text)
        ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED;
ALTER POLICY own ON recollect.decision WITH CHECK (
    team_id = recollect.present_team() AND member_id = recollect.present_member()
    AND machine_id = recollect.present_machine());

ALTER TABLE recollect.decision_link ADD COLUMN machine_id uuid DEFAULT recollect.present_machine();
UPDATE recollect.decision_link c SET machine_id = s.machine_id FROM recollect.session s
    WHERE s.team_id = c.team_id AND s.session_id = c.session_id;
ALTER TABLE recollect.decision_link ALTER COLUMN machine_id SET NOT NULL, DROP CONSTRAINT decision_link_team_id_session_id_fkey,
    ADD COLUMN has_text boolean NOT NULL DEFAULT true CHECK (has_text),
    ADD FOREIGN KEY (team_id, session_id, machine_id, has_text)
        REFERENCES recollect.session (team_id, session_id, machine_id, has_text)
        ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED;
ALTER POLICY own ON recollect.decision_link WITH CHECK (
    team_id = recollect.present_team() AND member_id = recollect.present_member()
    AND machine_id = recollect.present_machine());

ALTER TABLE recollect.event DROP CONSTRAINT event_team_id_session_id_fkey,
    ADD COLUMN has_events boolean NOT NULL DEFAULT true CHECK (has_events),
    ADD FOREIGN KEY (team_id, session_id, machine_id, month, has_events)
        REFERENCES recollect.session (team_id, session_id, machine_id, month, has_events)
        ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED;
ALTER POLICY own ON recollect.event WITH CHECK (
    team_id = recollect.present_team() AND machine_id = recollect.present_machine()
    AND member_id = recollect.present_member());

ALTER TABLE recollect.passage ADD FOREIGN KEY (team_id, session_id, machine_id)
    REFERENCES recollect.session (team_id, session_id, machine_id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED;
ALTER POLICY own ON recollect.passage WITH CHECK (
    team_id = recollect.present_team() AND machine_id = recollect.present_machine()
    AND member_id = recollect.present_member());

-- A learning needs a share of its repository, however that is written, at a level with text.
DELETE FROM recollect.share h USING recollect.share o WHERE o.team_id = h.team_id AND o.machine_id = h.machine_id
    AND lower(o.repo) = lower(h.repo) AND o.repo > h.repo;
DELETE FROM recollect.learning l WHERE NOT EXISTS (SELECT FROM recollect.share h WHERE h.team_id = l.team_id
    AND h.machine_id = l.machine_id AND lower(h.repo) = lower(l.repo) AND h.level <> 'figures');
ALTER TABLE recollect.share ADD COLUMN repo_key text GENERATED ALWAYS AS (lower(repo)) STORED,
    ADD COLUMN has_text boolean GENERATED ALWAYS AS (level <> 'figures') STORED;
ALTER TABLE recollect.share ADD UNIQUE (team_id, machine_id, repo_key),
    ADD UNIQUE (team_id, machine_id, repo_key, has_text);
ALTER TABLE recollect.learning ADD COLUMN repo_key text GENERATED ALWAYS AS (lower(repo)) STORED,
    ADD COLUMN has_text boolean NOT NULL DEFAULT true CHECK (has_text),
    ADD FOREIGN KEY (team_id, machine_id, repo_key, has_text)
        REFERENCES recollect.share (team_id, machine_id, repo_key, has_text) DEFERRABLE INITIALLY DEFERRED;
ALTER POLICY own ON recollect.learning WITH CHECK (
    team_id = recollect.present_team() AND machine_id = recollect.present_machine()
    AND member_id = recollect.present_member());

-- Remove sessions that a team keeps no longer, at most so many; return how many. What was asked and read stays. Team by
-- team, because Citus locks rows of one team only.
CREATE OR REPLACE FUNCTION recollect.sweep(most integer) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS
$$
DECLARE
    one record;
    old bigint[];
    gone bigint := 0;
BEGIN
    FOR one IN SELECT t.team_id, recollect.kept_between(t.retention_days) AS kept FROM recollect.team t
            WHERE t.retention_days IS NOT NULL LOOP
        SELECT array_agg(n.session_id) INTO old FROM (SELECT s.session_id FROM recollect.session s
            WHERE s.team_id = one.team_id
            AND NOT coalesce(s.ended_at, s.started_at, 0) BETWEEN one.kept[1] AND one.kept[2]
            LIMIT most - gone FOR UPDATE SKIP LOCKED) n;
        DELETE FROM recollect.session s WHERE s.team_id = one.team_id AND s.session_id = ANY (old);
        gone := gone + coalesce(cardinality(old), 0);
    END LOOP;
    RETURN gone;
END
$$;

GRANT EXECUTE ON FUNCTION recollect.without_signs(text) TO recollect_server;
REVOKE EXECUTE ON FUNCTION recollect.without_signs(text), recollect.keep_small(regclass), recollect.weight_of_text(),
    recollect.newest_months(text, jsonb) FROM PUBLIC;
